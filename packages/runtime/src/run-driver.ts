import {
  type Agent,
  agentName,
  type Clock,
  errorToJSON,
  ExecId,
  HookEvent,
  type HookPayloads,
  InvalidValueError,
  isPromiseLike,
  type Journal,
  type JournalEntry,
  type JsonObject,
  type MaybePromise,
  type RunId,
  RunMeta,
  type RunResult,
  type Supervision,
} from "@ravi/kernel";
import { admitRun } from "./context/admit-run.ts";
import { andThen } from "./context/and-then.ts";
import { createRunContext } from "./context/create-run-context.ts";
import { mayAdmit, type Plan, planFor } from "./context/plan.ts";
import { type Decisions, fullDecisions } from "./engine/decisions.ts";
import { Recording } from "./engine/recording.ts";
import { RunJournal } from "./engine/run-journal.ts";
import { processOwner } from "./journal/owner.ts";
import { RUN_START, RUN_STATUS } from "./journal/run-facts.ts";
import { LiveRun, recordedResult, statusRecord } from "./live-run.ts";
import type { Ports } from "./ports.ts";
import { readStart, type Start, startRecord } from "./run-start.ts";
import type { Underway } from "./underway.ts";
import { markReadAnswers, restoreTree } from "./tree/restore.ts";
import { Tree } from "./tree/tree.ts";

/** A run that may go, or the result of one that is over. */
type Ready =
  | { readonly start: Start; readonly going: Going & { readonly journal: RunJournal } }
  | { readonly result: RunResult };

/** What a go at a run works with, where there is a journal. */
interface Going {
  readonly journal?: RunJournal | undefined;
  readonly recording?: Recording | undefined;
  readonly decisions?: Decisions | undefined;
}

export interface DriverOptions {
  readonly ports: Ports;
  readonly ambientScope: boolean;
  readonly agents: ReadonlyMap<string, Agent>;
}

/** Takes a run from its start, or from its record, to its result: claims it, writes down how it stands, starts it again. */
export class RunDriver {
  private readonly ports: Ports;
  private readonly ambientScope: boolean;
  private readonly agents: ReadonlyMap<string, Agent>;
  private readonly owner: string;

  constructor({ ports, ambientScope, agents }: DriverOptions) {
    this.ports = ports;
    this.ambientScope = ambientScope;
    this.agents = agents;
    this.owner = processOwner(ports.ids.uuid());
  }

  begin(asked: Start, run: Underway): Promise<RunResult> {
    const start = this.admit(asked, run);
    return isPromiseLike(start) ? this.beginLater(start, run) : this.beginAdmitted(start, run);
  }

  private async beginLater(start: PromiseLike<Start>, run: Underway): Promise<RunResult> {
    return this.beginAdmitted(await start, run);
  }

  private beginAdmitted(start: Start, run: Underway): Promise<RunResult> {
    const { journal: store } = this.ports;
    if (store === undefined) return this.go(start, run, {}).toEnd();
    const { runId } = start.root;
    return this.claimed(store, runId, run, (journal) =>
      andThen(store.load(runId), (known) => {
        if (known.length === 0) return this.noteStart(start, journal);
        const expected = "a run that is not on record yet; resume it instead";
        throw new InvalidValueError({ field: "runId", value: runId, expected });
      }),
    );
  }

  private noteStart(start: Start, journal: RunJournal): MaybePromise<Ready> {
    const { runId } = start.root;
    const note = noteOf(runId, RUN_START, 1, this.ports.clock.now(), startRecord(start));
    return andThen(journal.append([note]), () => ({ start, going: { journal } }));
  }

  async goOn(runId: RunId, decisions: Decisions, run: Underway): Promise<RunResult> {
    const { journal: store } = this.ports;
    if (store === undefined) throw noJournal();
    return this.claimed(store, runId, run, async (journal) => {
      const recording = new Recording(await store.load(runId));
      const start = recording.aboutRun(RUN_START);
      if (start === undefined) {
        throw new InvalidValueError({ field: "runId", value: runId, expected: "a run that is on record" });
      }
      const status = recording.aboutRun(RUN_STATUS);
      const result = status === undefined ? undefined : recordedResult(runId, status.body);
      if (result !== undefined) return { result };
      // What is on record went through the layers before it was written down.
      const read = readStart(this.agents, start.body);
      run.agentId = read.root.agentId;
      const decided = fullDecisions(recording.records, decisions);
      return { start: read, going: { journal, recording, decisions: decided } };
    });
  }

  /** The layers around the agent see its input before anything is written down, so that what they remove never is. */
  private admit(start: Start, run: Underway): MaybePromise<Start> {
    const plan = planFor(start.agent, this.ports);
    return mayAdmit(plan.agent) ? this.throughLayers(plan, start, run) : start;
  }

  private throughLayers(plan: Plan, start: Start, { token }: Underway): MaybePromise<Start> {
    const { ports } = this;
    const { root, deadline, tenantId } = start;
    const meta = (): RunMeta =>
      RunMeta.of({ supervision: root, cancellation: token, deadline, tenantId, ...ports });
    return andThen(admitRun(plan, ports, meta, root, start.input), ({ input, refused }) =>
      input === start.input && refused === undefined ? start : { ...start, input, refused },
    );
  }

  /** A run that nobody else may write to, from where it stands to its result. */
  private async claimed(
    store: Journal,
    runId: RunId,
    run: Underway,
    prepare: (journal: RunJournal) => MaybePromise<Ready>,
  ): Promise<RunResult> {
    const claiming = RunJournal.claim(store, runId, this.owner, this.ports.clock);
    const journal = isPromiseLike(claiming) ? await claiming : claiming;
    try {
      const preparing = prepare(journal);
      const ready = isPromiseLike(preparing) ? await preparing : preparing;
      if ("result" in ready) return ready.result;
      return await this.goUntilOver(ready.start, run, ready.going);
    } finally {
      const released = journal.release();
      if (isPromiseLike(released)) await released;
    }
  }

  /** With a journal a crash of the agent's own code costs nothing: it is started again, as far as the policy allows. */
  private async goUntilOver(
    start: Start,
    run: Underway,
    first: Going & { readonly journal: RunJournal },
  ): Promise<RunResult> {
    const { clock, restart, hooks } = this.ports;
    const { journal } = first;
    const { runId } = start.root;
    const execId = ExecId(runId);
    let going = first;
    let statuses = going.recording?.aboutRun(RUN_STATUS)?.attempt ?? 0;
    const note = (body: JsonObject): MaybePromise<void> =>
      journal.append([noteOf(runId, RUN_STATUS, ++statuses, clock.now(), body)]);
    // One that has just begun is on record as running without a word.
    if (going.recording !== undefined) await note({ status: "running" });
    for (let attempt = 1; ; attempt++) {
      const go = this.go(start, run, going);
      try {
        if (going.recording !== undefined) await this.restore(run, going.recording);
      } catch (error) {
        run.tree?.close();
        throw error;
      }
      const result = await go.toEnd();
      if (go.crash === undefined || restart?.shouldRetry(execId, go.crash) !== true) {
        restart?.reset(execId);
        const noted = note(statusRecord(result));
        if (isPromiseLike(noted)) await noted;
        return result;
      }
      const delayMs = restart.delayMs(attempt);
      if (hooks.has(HookEvent.RETRY))
        void hooks.dispatch(
          HookEvent.RETRY,
          retryPayload(start.root, clock.now(), attempt, delayMs, go.crash),
        );
      await sleep(clock, delayMs, run);
      going = { ...going, recording: new Recording((await this.ports.journal?.load(runId)) ?? []) };
    }
  }

  private go(start: Start, run: Underway, { journal, recording, decisions = {} }: Going): LiveRun {
    const { token, events } = run;
    const { ports, ambientScope } = this;
    const tree = new Tree({
      ports,
      start,
      journal,
      recording,
      decisions,
      token,
      events,
      ambientScope,
      createContext: createRunContext,
    });
    run.enter(tree);
    if (journal !== undefined) journal.arrivals = tree.signals;
    return new LiveRun(tree, start);
  }

  private async restore({ tree }: Underway, recording: Recording): Promise<void> {
    if (tree === undefined) return;
    markReadAnswers(tree, recording);
    await tree.signals.look();
    await restoreTree(tree, recording);
  }
}

export function noJournal(): InvalidValueError {
  return new InvalidValueError({
    field: "journal",
    value: undefined,
    expected: "a runtime that was given a journal",
  });
}

function noteOf(runId: RunId, key: string, attempt: number, at: number, body: JsonObject): JournalEntry {
  return { exec: ExecId(runId), key, attempt, phase: "note", at, body };
}

function retryPayload(
  root: Supervision,
  at: number,
  attempt: number,
  delayMs: number,
  error: unknown,
): HookPayloads["retry"] {
  const { agentId, runId, sessionId } = root;
  return {
    agentName: agentName(agentId),
    agentId,
    runId,
    execId: ExecId(runId),
    sessionId,
    at,
    attempt,
    delayMs,
    error: errorToJSON(error),
  };
}

async function sleep(clock: Clock, delayMs: number, run: Underway): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = clock.setTimer?.(resolve, delayMs);
  if (timer === undefined) resolve();
  const unlisten = run.token.onCancel(() => resolve());
  run.wake = resolve;
  await promise.finally(() => {
    timer?.cancel();
    unlisten();
    run.wake = undefined;
  });
}
