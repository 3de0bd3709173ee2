import {
  type Agent,
  type AgentId,
  agentName,
  type CancellationToken,
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
  type PostedItem,
  type MaybePromise,
  type RunId,
  RunMeta,
  type RunResult,
  type RunStatus,
  type Supervision,
} from "@ravi/kernel";
import { admitRun } from "./context/admit-run.ts";
import { createRunContext } from "./context/create-run-context.ts";
import { type Plan, planFor } from "./context/plan.ts";
import { type Decisions, fullDecisions } from "./engine/decisions.ts";
import { Recording } from "./engine/recording.ts";
import { RunJournal } from "./engine/run-journal.ts";
import { processOwner } from "./journal/owner.ts";
import { RUN_START, RUN_STATUS } from "./journal/run-facts.ts";
import { LiveRun, recordedResult, statusRecord } from "./live-run.ts";
import type { Ports } from "./ports.ts";
import { readStart, type Start, startRecord } from "./run-start.ts";
import type { EventHub } from "./tree/event-hub.ts";
import { markReadAnswers, restoreTree } from "./tree/restore.ts";
import { Tree } from "./tree/tree.ts";

/** What exists of a run before its tree does. */
export interface Starting {
  readonly token: CancellationToken;
  readonly events: EventHub;
  tree: Tree | undefined;
  /** What was said to it before there was anybody to hear it, where no journal keeps it. */
  early: PostedItem[];
  /** Why it is to be suspended as soon as it begins: somebody closed the runtime before. */
  suspended: string | undefined;
  /** Ends the wait for the next go. */
  wake: (() => void) | undefined;
  agentId: AgentId;
  status: RunStatus;
}

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

  begin(asked: Start, starting: Starting): Promise<RunResult> {
    const { journal: store } = this.ports;
    const start = this.admit(asked, starting);
    if (store === undefined && !isPromiseLike(start)) return this.go(start, starting, {}).toEnd();
    return this.beginRecorded(start, starting);
  }

  private async beginRecorded(admitted: MaybePromise<Start>, starting: Starting): Promise<RunResult> {
    const { journal: store, clock } = this.ports;
    const start = await admitted;
    if (store === undefined) return this.go(start, starting, {}).toEnd();
    const { runId } = start.root;
    return this.claimed(store, runId, async (journal) => {
      if ((await store.load(runId)).length > 0) {
        const expected = "a run that is not on record yet; resume it instead";
        throw new InvalidValueError({ field: "runId", value: runId, expected });
      }
      await journal.append([noteOf(runId, RUN_START, 1, clock.now(), startRecord(start))]);
      return this.goUntilOver(start, starting, { journal });
    });
  }

  async goOn(runId: RunId, decisions: Decisions, starting: Starting): Promise<RunResult> {
    const { journal: store } = this.ports;
    if (store === undefined) throw noJournal();
    return this.claimed(store, runId, async (journal) => {
      const recording = new Recording(await store.load(runId));
      const start = recording.aboutRun(RUN_START);
      if (start === undefined) {
        throw new InvalidValueError({ field: "runId", value: runId, expected: "a run that is on record" });
      }
      const status = recording.aboutRun(RUN_STATUS);
      const result = status === undefined ? undefined : recordedResult(runId, status.body);
      if (result !== undefined) return result;
      // What is on record went through the layers before it was written down.
      const read = readStart(this.agents, start.body);
      starting.agentId = read.root.agentId;
      const decided = fullDecisions(recording.records, decisions);
      return this.goUntilOver(read, starting, { journal, recording, decisions: decided });
    });
  }

  /** The layers around the agent see its input before anything is written down, so that what they remove never is. */
  private admit(start: Start, starting: Starting): MaybePromise<Start> {
    const plan = planFor(start.agent, this.ports);
    return plan.agent === undefined ? start : this.throughLayers(plan, start, starting);
  }

  private async throughLayers(plan: Plan, start: Start, { token }: Starting): Promise<Start> {
    const { ports } = this;
    const { root, deadline, tenantId } = start;
    const meta = RunMeta.of({ supervision: root, cancellation: token, deadline, tenantId, ...ports });
    const { input, refused } = await admitRun(plan, ports, meta, root, start.input);
    return { ...start, input, refused };
  }

  private async claimed(
    store: Journal,
    runId: RunId,
    run: (journal: RunJournal) => Promise<RunResult>,
  ): Promise<RunResult> {
    const journal = await RunJournal.claim(store, runId, this.owner, this.ports.clock);
    try {
      return await run(journal);
    } finally {
      await journal.release();
    }
  }

  /** With a journal a crash of the agent's own code costs nothing: it is started again, as far as the policy allows. */
  private async goUntilOver(
    start: Start,
    starting: Starting,
    first: Going & { journal: RunJournal },
  ): Promise<RunResult> {
    const { clock, restart, hooks } = this.ports;
    const { journal } = first;
    const { runId } = start.root;
    const execId = ExecId(runId);
    let going = first;
    let statuses = going.recording?.aboutRun(RUN_STATUS)?.attempt ?? 0;
    const note = (body: JsonObject): MaybePromise<void> =>
      journal.append([noteOf(runId, RUN_STATUS, ++statuses, clock.now(), body)]);
    await note({ status: "running" });
    for (let attempt = 1; ; attempt++) {
      const run = this.go(start, starting, going);
      try {
        if (going.recording !== undefined) await this.restore(starting, going.recording);
      } catch (error) {
        starting.tree?.close();
        throw error;
      }
      const result = await run.toEnd();
      if (run.crash === undefined || restart?.shouldRetry(execId, run.crash) !== true) {
        restart?.reset(execId);
        await note(statusRecord(result));
        return result;
      }
      const delayMs = restart.delayMs(attempt);
      if (hooks.has(HookEvent.RETRY))
        void hooks.dispatch(
          HookEvent.RETRY,
          retryPayload(start.root, clock.now(), attempt, delayMs, run.crash),
        );
      await sleep(clock, delayMs, starting);
      going = { ...going, recording: new Recording((await this.ports.journal?.load(runId)) ?? []) };
    }
  }

  private go(start: Start, starting: Starting, { journal, recording, decisions = {} }: Going): LiveRun {
    const { root, tenantId, scope, deadline, agent, input, refused } = start;
    const { token, events } = starting;
    const { ports, ambientScope } = this;
    const tree = new Tree({
      ports,
      root,
      tenantId,
      scope,
      journal,
      recording,
      decisions,
      token,
      events,
      ambientScope,
      createContext: createRunContext,
    });
    starting.tree = tree;
    for (const item of starting.early.splice(0)) tree.signals.accept(item);
    if (starting.suspended !== undefined) tree.suspend(starting.suspended);
    if (journal !== undefined) journal.onBeat = () => void tree.signals.look();
    return new LiveRun({ agent, input, tree, deadline, refused });
  }

  private async restore({ tree }: Starting, recording: Recording): Promise<void> {
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

async function sleep(clock: Clock, delayMs: number, starting: Starting): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = clock.setTimer?.(resolve, delayMs);
  if (timer === undefined) resolve();
  const unlisten = starting.token.onCancel(() => resolve());
  starting.wake = resolve;
  await promise.finally(() => {
    timer?.cancel();
    unlisten();
    starting.wake = undefined;
  });
}
