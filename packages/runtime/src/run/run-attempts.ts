import {
  agentName,
  type Clock,
  errorToJSON,
  ExecId,
  HookEvent,
  type JournalEntry,
  type JsonObject,
  isPromiseLike,
  type MaybePromise,
  type RunId,
  type RunResult,
  type NeedsDecisionError,
} from "@ravi/kernel";
import { argumentsText, type Decisions, messageOf, restartDelay } from "@ravi/kernel/loop";
import { andThen } from "../promises/and-then.ts";
import { awaitJournal } from "./await-journal.ts";
import { hooksFor } from "../context/plan.ts";
import { type Doubt, doubtsOf, needsDecision, stillValid } from "../engine/decisions.ts";
import { Recording } from "../engine/recording.ts";
import { afterRetries, RETRIED } from "../engine/retried.ts";
import type { RunJournal } from "../engine/run-journal.ts";
import { eventLoopTurn } from "../engine/waiting.ts";
import { RUN_STATUS, RUN_WAITS } from "../journal/facts/run-facts.ts";
import { askedIn } from "./asked-calls.ts";
import { isStatusGiven, statusRecord } from "./result-record.ts";
import { RunAttempt } from "./run-attempt.ts";
import type { Ports } from "../ports.ts";
import { logOf } from "./run-log.ts";
import type { Start } from "../run-start.ts";
import { markReadAnswers, restoreTree } from "../tree/restore.ts";
import { type Attempts, Tree } from "../tree/tree.ts";
import type { LiveRun } from "./live-run.ts";
import { endWith, type End } from "../promises/end.ts";

/** What an attempt at a run continues from. */
export interface Continuation {
  readonly recording?: Recording | undefined;
  readonly decisions: Decisions;
  /** Whether the run had failed. */
  readonly isRetried?: boolean | undefined;
}

/** An attempt with nothing recorded before it. */
export const FROM_THE_START: Continuation = Object.freeze({ decisions: Object.freeze({}) });

/** The attempts at one run until it is over. Records the run's status, and restarts it after a crash. */
export class RunAttempts implements Attempts {
  private readonly ports: Ports;
  private readonly ambientScope: boolean;
  private readonly start: Start;
  private readonly run: LiveRun;
  private readonly execId: ExecId;
  /** How many statuses were recorded. */
  private statuses = 0;
  private crashes = 0;
  /** Milliseconds before the next attempt. */
  private delayMs = 0;
  /** The crash that the policy was asked about last, and whether there is another attempt after it. */
  private lastCrash: unknown;
  private isRestarted = false;

  constructor(ports: Ports, ambientScope: boolean, start: Start, run: LiveRun) {
    this.ports = ports;
    this.ambientScope = ambientScope;
    this.start = start;
    this.run = run;
    this.execId = ExecId(start.root.runId);
  }

  /** Without a journal there is one attempt, whatever its result. */
  once(end: End<RunResult>): void {
    this.begin(undefined, FROM_THE_START).run(end);
  }

  /** With a journal a crash of the agent's own code loses nothing: the run is restarted, as often as the policy allows. */
  toEnd(journal: RunJournal, from: Continuation, end: End<RunResult>): void {
    const { recording } = from;
    if (recording !== undefined) return endWith(end, () => this.resume(journal, from, recording));
    // The status of a new run is not recorded: its start implies that it is running.
    const attempt = this.begin(journal, from);
    const next: End<RunResult> = {
      ended: (result) => endWith(end, () => this.restartOrClose(journal, from, attempt.crash, result)),
      failed: (error) => end.failed(error),
    };
    const { hasPosts, tree } = this.run;
    // A run that was cancelled while it waited for its layers or its journal must not begin to pay.
    if (hasPosts && tree !== undefined) void this.readPosts(tree).then(() => attempt.run(next));
    else attempt.run(next);
  }

  private restartOrClose(
    journal: RunJournal,
    from: Continuation,
    crash: unknown,
    result: RunResult,
  ): MaybePromise<RunResult> {
    return this.shouldRestart(journal, crash)
      ? this.loadAfterCrash(journal, crash).then((recording) => this.runAgain(journal, from, recording))
      : this.close(journal, result);
  }

  private async resume(journal: RunJournal, from: Continuation, recording: Recording): Promise<RunResult> {
    this.statuses = recording.aboutRun(RUN_STATUS)?.attempt ?? 0;
    const { aliveUntil } = journal;
    const running = aliveUntil === undefined ? { status: "running" } : { status: "running", aliveUntil };
    await this.note(journal, from.isRetried === true ? RETRIED : running, true);
    recording.aliveUntil = aliveUntil;
    return this.runAgain(journal, from, recording);
  }

  private async runAgain(journal: RunJournal, from: Continuation, first: Recording): Promise<RunResult> {
    let { decisions } = from;
    for (let recording = first; ;) {
      const attempt = this.begin(journal, { recording, decisions });
      let doubt: NeedsDecisionError | undefined;
      try {
        await this.restore(recording);
        const doubts = this.doubtsIn(recording, decisions);
        if (doubts.length > 0) await this.noteDoubts(doubts, recording);
        // The run may have been cancelled meanwhile.
        doubt = needsDecision(this.doubtsIn(recording, decisions));
      } catch (error) {
        this.run.tree?.close();
        throw error;
      }
      const result = doubt === undefined ? await attempt.toEnd() : attempt.suspended(doubt);
      if (!this.shouldRestart(journal, attempt.crash)) return this.close(journal, result);
      const next = await this.loadAfterCrash(journal, attempt.crash);
      decisions = stillValid(decisions, recording.records, next.records);
      recording = next;
    }
  }

  /** The calls that somebody has to decide on. For a cancelled run nothing is asked: its result lists the calls in doubt. */
  private doubtsIn({ records }: Recording, decisions: Decisions): readonly Doubt[] {
    const { tree } = this.run;
    const doubts = doubtsOf(records).filter(({ full }) => decisions[full] === undefined);
    if (tree?.isCancelled !== true) return doubts;
    for (const { full } of doubts) tree.inDoubt.add(full);
    return [];
  }

  /** For the list of runs. */
  private async noteDoubts(doubts: readonly Doubt[], recording: Recording): Promise<void> {
    const { tree } = this.run;
    if (tree === undefined) return;
    const { waits, accounts, root } = tree;
    const asked = askedIn(recording.records, new Set(doubts.map(({ execId }) => execId)));
    for (const { execId, key, full, tool } of doubts) {
      const { agentId } = accounts.find(execId) ?? root;
      const { begin } = recording.of(execId).steps.get(key) ?? {};
      const call = begin === undefined ? undefined : asked.of(begin);
      const question = {
        tool,
        ...(call !== undefined && { callId: call.id, arguments: argumentsText(call) }),
      };
      const what = { kind: "decision", name: full, question } as const;
      waits.begin(waits.describe({ execId, agentId }, full, what));
    }
    await this.awaitJournal("append", waits.write());
  }

  /**
   * Whether the run is restarted. Never if the journal accepts nothing more, since each attempt would fail at its first entry. It is asked
   * when the root crashes, because its children only go on in another attempt, and again when the attempt is over; the policy, which
   * counts, is asked once.
   */
  shouldRestart({ isLost }: RunJournal, crash: unknown): boolean {
    if (crash === undefined || crash !== this.lastCrash)
      this.isRestarted = this.isWanted(isLost ? undefined : crash);
    this.lastCrash = crash;
    return this.isRestarted && !isLost;
  }

  /** Whether the policy wants another attempt. If it throws, or does not say how long to wait, there is none. */
  private isWanted(crash: unknown): boolean {
    const { ports, start } = this;
    const { restart } = ports;
    if (restart === undefined) return false;
    try {
      // Only `true` counts as yes, whatever an untyped policy may return.
      const isWanted: unknown = crash !== undefined && restart.shouldRetry(this.execId, crash);
      if (isWanted === true) {
        this.delayMs = restartDelay(restart, this.crashes + 1, "restart");
        return true;
      }
      restart.reset(this.execId);
    } catch (error) {
      const message = `the restart policy failed; ${this.execId} is not restarted`;
      logOf({ ports, runId: start.root.runId }, "error", message, { error: messageOf(error) });
    }
    return false;
  }

  /** Waits for the policy's delay, then reads what is recorded by then. */
  private async loadAfterCrash(store: RunJournal, crash: unknown): Promise<Recording> {
    const { clock, journal } = this.ports;
    const { agent, root } = this.start;
    const { agentId, runId, sessionId } = root;
    const hooks = hooksFor(agent, this.ports);
    const attempt = ++this.crashes;
    const { delayMs, execId } = this;
    if (hooks.has(HookEvent.RETRY)) {
      const base = { agentName: agentName(agentId), agentId, runId, execId, sessionId, at: clock.now() };
      void hooks.dispatch(HookEvent.RETRY, { ...base, attempt, delayMs, error: errorToJSON(crash) });
    }
    await sleep(clock, delayMs, this.run);
    await this.settled(store);
    const known = await this.awaitJournal("load", journal?.load(runId));
    const recording = new Recording(afterRetries(runId, known ?? []));
    recording.isRestart = true;
    // The list of runs is to forget what the crashed attempt has waited for.
    if (recording.aboutRun(RUN_WAITS) !== undefined) await this.note(store, { status: "running" }, true);
    return recording;
  }

  /** Waits for all that the crashed attempt has to record. */
  private async settled(store: RunJournal): Promise<void> {
    await this.awaitJournal("append", store.settled());
    if (!store.isLate) return;
    await eventLoopTurn();
    if (store.settled() !== undefined) await this.settled(store);
  }

  private close(journal: RunJournal, result: RunResult): MaybePromise<RunResult> {
    const { status } = result;
    const left =
      status === "suspended" ? this.awaitJournal("append", this.run.tree?.waits.writeLeft()) : undefined;
    const noted = andThen(left, () => {
      const written = this.note(journal, statusRecord(result), isStatusGiven(result));
      // A call that ends while this is being written is in doubt in the result. Of a suspended run it is better known.
      if (status !== "suspended") journal.close();
      return written;
    });
    return andThen(noted, () => result);
  }

  private note(journal: RunJournal, body: JsonObject, isGiven: boolean): MaybePromise<void> {
    const { root } = this.start;
    const now = this.ports.clock.now();
    const note = noteOf(root.runId, RUN_STATUS, ++this.statuses, now, body, isGiven);
    return this.awaitJournal("append", journal.append([note]));
  }

  private awaitJournal<T>(what: string, answer: MaybePromise<T>): MaybePromise<T> {
    if (!isPromiseLike(answer)) return answer;
    return awaitJournal(answer, { what, run: this.run, clock: this.ports.clock });
  }

  /** Reads what was posted to the run. If the run is stopped and the journal does not answer, it continues without. */
  private async readPosts(tree: Tree): Promise<void> {
    try {
      await this.awaitJournal("items", tree.signals.readPosts());
    } catch (error) {
      tree.postsUnreadable(error);
    }
  }

  private begin(journal: RunJournal | undefined, { recording, decisions }: Continuation): RunAttempt {
    const { ports, start, ambientScope, run } = this;
    const { token, events } = run;
    const tree = new Tree({
      ports,
      start,
      journal,
      recording,
      decisions,
      token,
      events,
      ambientScope,
      attempts: this,
    });
    run.attach(tree);
    journal?.attach(tree);
    return new RunAttempt(tree, start);
  }

  private async restore(recording: Recording): Promise<void> {
    const { tree } = this.run;
    if (tree === undefined) return;
    markReadAnswers(tree, recording);
    await this.readPosts(tree);
    // It may have been cancelled: nothing is paid for before that is known.
    if (!this.run.isStopped) tree.signals.checkRead();
    // After a refused input no agent has begun, and none will.
    if (this.start.refused === undefined) await restoreTree(tree, recording);
  }
}

/** An entry about the run as a whole. */
export function noteOf(
  runId: RunId,
  key: string,
  attempt: number,
  at: number,
  body: JsonObject,
  isGiven: boolean,
): JournalEntry {
  return { exec: ExecId(runId), key, attempt, phase: "note", at, body, given: isGiven ? body : undefined };
}

async function sleep(clock: Clock, delayMs: number, run: LiveRun): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = clock.setTimer?.(resolve, delayMs);
  // A run that is to be suspended is not restarted here, so there is nothing to wait for.
  if (timer === undefined || run.suspended !== undefined || run.draining !== undefined) resolve();
  const unlisten = run.token.onCancel(() => resolve());
  run.wake = resolve;
  await promise.finally(() => {
    timer?.cancel();
    unlisten();
    run.wake = undefined;
  });
}
