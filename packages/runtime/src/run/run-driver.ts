import {
  type Agent,
  checkBoolean,
  HistoryRetention,
  InvalidValueError,
  isPromiseLike,
  type Journal,
  type JsonObject,
  type MaybePromise,
  type RunId,
  type RunResult,
  Supervision,
} from "@ravi/kernel";
import { admitRun, type Decisions, checkDecisions, engineRunMeta, fullDecisions } from "@ravi/kernel/loop";
import { andThen } from "../promises/and-then.ts";
import { awaitJournal } from "./await-journal.ts";
import { mayAdmit, type Plan, planFor } from "../context/plan.ts";
import { doubtsOf } from "../engine/decisions.ts";
import { textAt } from "../engine/body.ts";
import { Recording } from "../engine/recording.ts";
import { afterRetries } from "../engine/retried.ts";
import { RunJournal } from "../engine/run-journal.ts";
import { awaitAdmission } from "./await-admission.ts";
import { type Continuation, RunAttempts, FROM_THE_START, noteOf } from "./run-attempts.ts";
import { wholeRecords } from "../journal/entries/with-blobs.ts";
import { processOwner } from "../journal/parts/owner.ts";
import { RUN_START, RUN_STATUS } from "../journal/facts/run-facts.ts";
import { recordedResult } from "./result-record.ts";
import { tryOrLog } from "../promises/try-or-log.ts";
import type { Ports } from "../ports.ts";
import { readStart, type Start, isPlainStart, scopeOf, startRecord } from "../run-start.ts";
import type { LiveRun } from "./live-run.ts";
import { endWith, type End } from "../promises/end.ts";

/** A run that can start, or the result of one that is over. */
type Ready = { readonly start: Start; readonly from: Continuation } | { readonly result: RunResult };

/** How a run is to be continued. */
interface Asked {
  readonly decisions?: Decisions | undefined;
  readonly retryFailed?: boolean | undefined;
}

/** A run that is to be claimed. */
interface Claiming {
  readonly runId: RunId;
  readonly run: LiveRun;
  readonly deadline: number | null;
  readonly prepare: (journal: RunJournal) => MaybePromise<Ready>;
  readonly end: End<RunResult>;
}

export interface DriverOptions {
  readonly ports: Ports;
  readonly ambientScope: boolean;
  readonly agents: ReadonlyMap<string, Agent>;
}

/** Takes a run from its start, or from its record, to its result: through the layers, the claim and the attempts. */
export class RunDriver {
  private readonly ports: Ports;
  private readonly ambientScope: boolean;
  private readonly agents: ReadonlyMap<string, Agent>;
  /**
   * Who claims runs. Made at the first claim: Deno asks its user whether the name of the host may be read, and Cloudflare's workers may be
   * random only within a request.
   */
  private owner: string | undefined;

  constructor({ ports, ambientScope, agents }: DriverOptions) {
    this.ports = ports;
    this.ambientScope = ambientScope;
    this.agents = agents;
  }

  /** Starts a new run. May throw before it has begun. */
  begin(asked: Start, run: LiveRun, end: End<RunResult>): void {
    const start = this.admit(asked, run);
    if (isPromiseLike(start)) this.beginLater(start, run, end);
    else this.beginAdmitted(start, run, end);
  }

  private beginLater(start: PromiseLike<Start>, run: LiveRun, end: End<RunResult>): void {
    Promise.resolve(start)
      .then((admitted) => this.beginAdmitted(admitted, run, end))
      .then(undefined, (error: unknown) => end.failed(error));
  }

  private beginAdmitted(start: Start, run: LiveRun, end: End<RunResult>): void {
    const { journal: store } = this.ports;
    if (store === undefined) return this.attemptsOf(start, run).once(end);
    const { runId } = start.root;
    const prepare = (journal: RunJournal): MaybePromise<Ready> =>
      andThen(store.load(runId), (known) => {
        if (known.length === 0) return noteStart(start, journal, run.startedAt);
        throw wrongRun(runId, "an id that is not in the journal yet; call resume() to continue that run");
      });
    this.withClaim(store, { runId, run, deadline: start.deadline, prepare, end });
  }

  /** Continues a recorded run; with `retryFailed`, also one of which something has failed. Throws if an option is wrong. */
  resume(
    runId: RunId,
    { decisions = {}, retryFailed = false }: Asked,
    run: LiveRun,
    end: End<RunResult>,
  ): void {
    checkDecisions(decisions);
    checkBoolean("resume options.retryFailed", retryFailed);
    const { journal: store } = this.ports;
    if (store === undefined) throw noJournal();
    const prepare = async (journal: RunJournal): Promise<Ready> => {
      const records = wholeRecords(runId, await store.load(runId));
      let recording = new Recording(afterRetries(runId, records));
      const start = recording.aboutRun(RUN_START);
      if (start === undefined) {
        if (recording.records.length === 0) await journal.abandon();
        throw wrongRun(runId, "the id of a run in the journal");
      }
      const status = recording.aboutRun(RUN_STATUS);
      const output = this.agents.get(textAt(start.body, "agent"))?.output;
      const result = status === undefined ? undefined : recordedResult(runId, status.body, output);
      const isRetried = retryFailed && result !== undefined && this.mayRetry(result, start.body);
      if (isRetried) recording = new Recording(afterRetries(runId, records, this.ports.clock.now()));
      else if (result !== undefined) return { result };
      // The recorded input has been through the layers already.
      const read = await readStart(
        this.ports,
        this.agents,
        start.body,
        async () => !isRetried && (await store.items(runId, 0)).some(({ kind }) => kind === "cancel"),
      );
      run.agentId = read.root.agentId;
      const decided = fullDecisions(doubtsOf(recording.records), decisions);
      return { start: read, from: { recording, decisions: decided, isRetried } };
    };
    this.withClaim(store, { runId, run, deadline: null, prepare, end });
  }

  /**
   * Whether it has failed, or has only part of its answer because something of it failed. Not if that part is in a conversation by now,
   * because the whole answer would be added to it.
   */
  private mayRetry({ status, stopReason }: RunResult, start: JsonObject): boolean {
    if (status === "failed") return true;
    if (status !== "partial" || stopReason !== "failed") return false;
    const { retention } = Supervision.fromJSON(start["supervision"]);
    return this.ports.history === undefined || retention !== HistoryRetention.PERMANENT;
  }

  /** The layers around the agent see its input before anything is recorded, so what they remove is never recorded. */
  private admit(start: Start, run: LiveRun): MaybePromise<Start> {
    const plan = planFor(start.agent, this.ports);
    return mayAdmit(plan.agent) ? this.throughLayers(plan, start, run) : start;
  }

  private throughLayers({ agent, hooks }: Plan, start: Start, run: LiveRun): MaybePromise<Start> {
    const { ports } = this;
    const { clock, ids } = ports;
    const { token } = run;
    const { root, deadline, tenantId, attachments } = start;
    const meta = engineRunMeta({ supervision: root, cancellation: token, deadline, tenantId, clock, ids });
    const layers = agent === undefined ? [] : [agent];
    const scope = scopeOf(start);
    const asked = { layers, whom: root, input: start.input, attachments, meta, scope, hooks, clock };
    const admitted = admitRun(asked);
    const inTime = isPromiseLike(admitted) ? awaitAdmission(admitted, run, clock, deadline) : admitted;
    return andThen(inTime, ({ input, refused }) =>
      input === start.input && refused === undefined ? start : { ...start, input, refused },
    );
  }

  /** Claims the run, so that nobody else writes to it, and takes it to its result. */
  private withClaim(store: Journal, asked: Claiming): void {
    const { clock } = this.ports;
    const { runId, run, deadline, end } = asked;
    this.owner ??= processOwner(this.ports.ids.uuid());
    const claim = RunJournal.claim(store, runId, this.owner, clock);
    if (!isPromiseLike(claim)) return this.claimed(claim, asked);
    const onLate = (late: RunJournal): void => void this.release(late, run);
    awaitJournal(claim, { what: "claim", run, clock, deadline, onLate })
      .then((journal) => this.claimed(journal, asked))
      .then(undefined, (error: unknown) => end.failed(error));
  }

  private claimed(journal: RunJournal, { run, deadline, prepare, end }: Claiming): void {
    const { clock } = this.ports;
    const released: End<RunResult> = {
      ended: (result) => endWith(end, () => andThen(this.release(journal, run), () => result)),
      failed: (error) =>
        endWith(end, () =>
          andThen(this.release(journal, run), () => {
            throw error;
          }),
        ),
    };
    const go = (ready: Ready): void => {
      if ("result" in ready) released.ended(ready.result);
      else this.attemptsOf(ready.start, run).toEnd(journal, ready.from, released);
    };
    try {
      const prepared = prepare(journal);
      if (!isPromiseLike(prepared)) return go(prepared);
      awaitJournal(prepared, { what: "load or append", run, clock, deadline })
        .then(go)
        .then(undefined, (error: unknown) => released.failed(error));
    } catch (error) {
      released.failed(error);
    }
  }

  /** Releases the claim. The outcome of the run is known by now, so a failure is only logged: the claim lapses on its own. */
  private release(journal: RunJournal, run: LiveRun): MaybePromise<void> {
    const { ports } = this;
    const { clock } = ports;
    const { runId } = journal;
    const message = `could not release the claim on run ${runId}; it expires on its own`;
    return tryOrLog({ ports, runId }, "error", message, () => {
      const released = journal.release();
      return isPromiseLike(released)
        ? awaitJournal(released, { what: "release", run, clock, isOver: true })
        : undefined;
    });
  }

  private attemptsOf(start: Start, run: LiveRun): RunAttempts {
    return new RunAttempts(this.ports, this.ambientScope, start, run);
  }
}

/** The recorded start time is that of the call of `run`. */
function noteStart(start: Start, journal: RunJournal, at: number): MaybePromise<Ready> {
  const note = noteOf(start.root.runId, RUN_START, 1, at, startRecord(start), isPlainStart(start));
  return andThen(journal.append([note]), () => ({ start, from: FROM_THE_START }));
}

export function wrongRun(runId: string, expected: string): InvalidValueError {
  return new InvalidValueError({ field: "runId", value: runId, expected });
}

export function noJournal(): InvalidValueError {
  return new InvalidValueError({
    field: "journal",
    value: undefined,
    expected: "a runtime with a journal: new Runtime({ journal })",
  });
}
