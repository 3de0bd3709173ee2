import {
  type AgentResult,
  type DeadlineExceededError,
  type HireOutcome,
  type HireSpec,
  type HireUsage,
  isCancellation,
  isPromiseLike,
  isRaviError,
  type JsonObject,
  type Lease,
  Priority,
  type RaviError,
  type RunHandle,
  type RunStatus,
} from "@ravi/kernel";
import { type Linked, readOutcome } from "@ravi/kernel/loop";
import { type End, endWith } from "../promises/end.ts";
import type { Account } from "../tree/accounts.ts";
import { childLedger, withAgentLedger, withExtraOf } from "../tree/ledgers.ts";
import { ChildHandle } from "./child-handle.ts";
import { hireStatus, NOTHING_USED, outcomeToJSON, restoreOutcome } from "./hire-record.ts";
import { takeSeat } from "./hire-seat.ts";
import { type HireTimes, permittedInTime, timeInQueue, timesOf } from "./hire-times.ts";
import type { InProcessEngine } from "./in-process.ts";
import type { Mailbox } from "./mailbox.ts";
import type { Recordable } from "./recordable.ts";
import { SPAWNED, WAS_SEATED } from "./retried.ts";
import { InProcessStart } from "./start.ts";

/** How many levels of hires may start in one synchronous call before one waits a tick: 200 overflow Node's stack on ARM. */
const LEVELS_AT_ONCE = 16;

/** The result of a child whose time ran out before it had a seat. */
const OUT_OF_TIME: AgentResult = Object.freeze({ status: "partial", output: "", stopReason: "deadline" });

/** A hire in this process: takes a seat, runs the child to its end, and gives the seat back. */
export class Hiring implements Recordable<HireOutcome>, Linked<Hiring> {
  readonly onDoubt = "resume";
  readonly spec: HireSpec;
  /** Whether there is a child, running or ended. There is none if it was denied. */
  hasChild = false;
  /** Whether its parent does not wait for it, unless it joins it. */
  isSpawned = false;
  // Its neighbours in the list of its parent's children.
  before: Hiring | undefined;
  after: Hiring | undefined;
  private onStart: (() => void) | undefined;
  private readonly engine: InProcessEngine;
  private readonly account: Account;
  /** The child's engine, while it runs. */
  private running: InProcessEngine | undefined;
  /** Of a resumed child that has ended: what it has replied may still be asked for. */
  private lastMail: Mailbox | undefined;
  private lazyHandle: RunHandle | undefined;
  private lazyTimes: HireTimes | undefined;
  /** How long the child has been in the queue for its first seat. */
  queuedMs = 0;
  /** The seat of a child that has ended, until that is on record. */
  private seat: Lease | undefined;
  /** Whether the child has started before, in an earlier process. */
  private isResumed = false;
  /** Whether it was permitted and got a seat, in this process or an earlier one. */
  private isSeated = false;
  status: RunStatus = "pending";
  isRecordGiven = false;
  private ended: Promise<HireOutcome> | undefined;

  constructor(engine: InProcessEngine, spec: HireSpec) {
    this.engine = engine;
    this.spec = spec;
    // Opened now, so that accounts are in the order of hiring.
    this.account = this.openAccount();
    engine.tree.unclaimedHires?.delete(spec.execId);
  }

  get key(): string {
    return this.spec.key;
  }

  get what(): string {
    return `the hire of ${this.spec.agent.id}`;
  }

  get handle(): RunHandle {
    return (this.lazyHandle ??= new ChildHandle(this, this.engine.tree.runId));
  }

  /** Undefined after its end, unless what it has replied may still be asked for. */
  get mailbox(): Mailbox | undefined {
    return this.running?.mailbox ?? this.lastMail;
  }

  /** Does not reject if the child fails. */
  get outcome(): Promise<HireOutcome> {
    return this.ended ?? Promise.reject(new TypeError("the hire has not been started"));
  }

  get times(): HireTimes {
    return (this.lazyTimes ??= timesOf(this.engine, this.spec));
  }

  /** What the child and everyone below it have used so far. */
  get used(): HireUsage {
    return this.account.total;
  }

  /** Makes the hire and records it. `onStart` is called when the child starts; it may never do so. */
  start(onStart: () => void): Promise<HireOutcome> {
    this.onStart = onStart;
    return (this.ended = Promise.resolve(this.engine.effect(this)));
  }

  noteEnd(outcome: HireOutcome): void {
    this.status = hireStatus(outcome);
  }

  /** Called if it has no outcome: the run was suspended, or the parent was stopped before the child started. */
  noteStop(): void {
    this.status = "suspended";
    const { tree } = this.engine;
    const { execId, agentId } = this.spec;
    if (tree.suspension !== undefined) return;
    // It may not have taken the seat that was restored for it.
    if (tree.takeRestoredSeat(execId)) void tree.releaseSeat(agentId);
    if (this.account.status === "pending") this.account.status = "cancelled";
  }

  cancel(error: string | DeadlineExceededError): void {
    this.running?.token.cancel(error);
  }

  fingerprint(): string {
    return this.spec.fingerprint;
  }

  /** Without attachments: a replay makes the same hire again, and compares its fingerprint. They may be large, and many may inherit them. */
  begin(): JsonObject {
    const { agentName, agentId, input, priority, budget } = this.spec;
    const { deadline, until } = this.times;
    const { agentId: parentId } = this.engine.start.supervision;
    const body = { agent: agentName, agentId, input, parentId, deadline };
    if (until === null && priority === undefined && budget === undefined && !this.isSpawned) return body;
    return {
      ...body,
      ...(this.isSpawned && { [SPAWNED]: true }),
      ...(until !== null && { until }),
      ...(priority !== undefined && { priority }),
      ...(budget !== undefined && { budget: { ...budget } }),
    };
  }

  run(): Promise<HireOutcome> {
    return new Promise((resolve, reject) => this.seatAndRun({ ended: resolve, failed: reject }));
  }

  private seatAndRun(end: End<HireOutcome>): void {
    const denied = (error: unknown): void => endWith(end, () => this.endBeforeStart(error));
    let seat: ReturnType<Hiring["takeSeat"]>;
    try {
      seat = this.takeSeat();
    } catch (error) {
      return denied(error);
    }
    if (seat === undefined) this.runChild(undefined, end);
    else seat.then((lease) => this.runChild(lease, end), denied);
  }

  /** Takes the child's seat, if it is permitted. Undefined if there is nothing to wait for, because seats are not counted. */
  private takeSeat(): Promise<Lease | undefined> | undefined {
    const { engine, spec } = this;
    this.isResumed = engine.recordedBegin(spec.key) !== undefined && !this.wasQueued;
    // Decided before the child waits for a seat: its time runs from the hire on.
    const { times } = this;
    const denial = spec.denial();
    if (isPromiseLike(denial)) return this.seatWhenPermitted(denial);
    if (denial !== undefined) throw denial;
    // Awaited even if it is no promise: all hires of a batch take their seats, in order, before the first child starts.
    const seat = takeSeat(engine, spec, times.deadline);
    return seat === undefined ? undefined : Promise.resolve(seat);
  }

  private async seatWhenPermitted(denial: PromiseLike<RaviError | undefined>): Promise<Lease | undefined> {
    const { engine, spec, times } = this;
    const denied = await permittedInTime(engine, spec, times, denial);
    if (denied !== undefined) throw denied;
    return takeSeat(engine, spec, times.deadline);
  }

  private runChild(lease: Lease | undefined, end: End<HireOutcome>): void {
    const { engine, spec } = this;
    const { until } = this.times;
    let child: InProcessEngine;
    this.isSeated = true;
    try {
      // The parent may have been stopped while the hire was recorded or waited for its seat.
      engine.token.check();
      if (until !== null && spec.onFull === "queue") this.queuedMs = timeInQueue(engine, spec, until);
      this.running = child = this.makeEngine();
    } catch (error) {
      return endWith(end, () => this.endBeforeStart(error, lease));
    }
    this.status = "running";
    this.hasChild = true;
    engine.children.add(this);
    this.onStart?.();
    const work = (): void =>
      child.begin(
        (outcome) => endWith(end, () => this.childEnded(child, outcome, lease)),
        (error) => endWith(end, () => this.childFailed(child, error, lease)),
      );
    if (engine.start.supervision.depth % LEVELS_AT_ONCE !== LEVELS_AT_ONCE - 1) work();
    else void Promise.resolve().then(work);
  }

  private childEnded(child: InProcessEngine, outcome: HireOutcome, lease: Lease | undefined): HireOutcome {
    try {
      return withUsage(outcome, this.addToParent());
    } finally {
      this.cleanUp(child, outcome, lease);
    }
  }

  private childFailed(child: InProcessEngine, error: unknown, lease: Lease | undefined): never {
    this.cleanUp(child, undefined, lease);
    throw error;
  }

  /** The outcome of a hire whose child never started. */
  private async endBeforeStart(error: unknown, lease?: Lease): Promise<HireOutcome> {
    const { execId, agentId } = this.spec;
    const { tree, token } = this.engine;
    tree.releaseLease(agentId, lease);
    // If it failed before `takeSeat`, a restored seat is still there.
    if (tree.takeRestoredSeat(execId)) {
      this.isSeated = true;
      await tree.releaseSeat(agentId);
    }
    // A suspended hire has no outcome: it waits for its seat again when the run is resumed.
    if (tree.suspension !== undefined) throw tree.suspension;
    if (!isRaviError(error)) throw error;
    // Its own time ran out. If the parent was stopped too, that is the reason that counts.
    if (error.code === "DEADLINE_EXCEEDED" && !token.isCancelled) return this.endOutOfTime();
    const status = isCancellation(error) ? "cancelled" : "denied";
    this.account.status = status;
    if (this.wasSeated) this.countAsChild();
    return { status, error, ...NOTHING_USED };
  }

  private endOutOfTime(): HireOutcome {
    this.account.status = "partial";
    this.account.cutOff = { stopReason: OUT_OF_TIME.stopReason };
    this.countAsChild();
    return { status: "partial", result: OUT_OF_TIME, ...this.addToParent() };
  }

  /** It counts as a child that has ended, so that it can be joined. */
  private countAsChild(): void {
    this.hasChild = true;
    if (this.isKept) this.engine.children.add(this);
  }

  /** Whether its parent knows the child from an attempt that the run has failed with. */
  private get wasSeated(): boolean {
    return this.engine.recordedBegin(this.spec.key)?.[WAS_SEATED] === true;
  }

  /** Adds what the child has used to its parent's account, and returns it. */
  private addToParent(): HireUsage {
    const { total } = this.account;
    this.engine.account.addBelow(total);
    return total;
  }

  /** Frees the seat even if `over` throws, which runs the user's code. */
  private cleanUp(child: InProcessEngine, outcome: HireOutcome | undefined, lease: Lease | undefined): void {
    // A resumed child may answer a question from before the crash, and end, before its parent asks again.
    if (this.isKept && child.start.isResumed) this.lastMail = child.mailbox;
    try {
      child.over(outcome);
    } finally {
      if (outcome === undefined || !this.engine.isDurable)
        this.engine.tree.releaseLease(this.spec.agentId, lease);
      else this.seat = lease;
      child.token.dispose();
      this.running = undefined;
      // Of a child that cannot be joined nothing is kept.
      if (!this.isKept) this.engine.children.delete(this);
    }
  }

  /** Only now is the seat free: otherwise, after a crash, the child and whoever took its seat would both be on record as having it. */
  recorded(): void {
    this.engine.tree.releaseLease(this.spec.agentId, this.seat);
    this.seat = undefined;
  }

  record(outcome: HireOutcome): JsonObject {
    const body = outcomeToJSON(outcome);
    this.isRecordGiven = isFlat(outcome);
    return this.isSeated ? body : { ...body, unseated: true };
  }

  restore(body: JsonObject): HireOutcome {
    const outcome = readOutcome(restoreOutcome(body), this.spec.agent.output);
    this.status = hireStatus(outcome);
    this.engine.account.addBelow(outcome);
    if (outcome.status !== "denied" || this.wasSeated) this.countAsChild();
    return outcome;
  }

  spend(): undefined {
    return undefined;
  }

  /** Whether it may be joined after its end. */
  private get isKept(): boolean {
    return this.spec.isJoinable || this.spec.onTimeout === "leave";
  }

  private openAccount(): Account {
    const { tree, start } = this.engine;
    const { agentId, execId, priority } = this.spec;
    const account = tree.accounts.open(agentId, execId, priority ?? Priority.NORMAL);
    account.parent = start.supervision.agentId;
    return account;
  }

  /** Whether it was still waiting for a seat when the run broke off, so that it has not started before. */
  private get wasQueued(): boolean {
    const { onFull, execId } = this.spec;
    return onFull === "queue" && this.engine.tree.recording?.execs.get(execId)?.startedAt === undefined;
  }

  private makeEngine(): InProcessEngine {
    const { engine, spec, isResumed } = this;
    const { tree } = engine;
    const { agent, execId, agentId, input, attachments } = spec;
    const supervision = spec.supervision();
    const restored = tree.restoredLedger(execId);
    const ledger =
      restored === undefined
        ? childLedger(engine.ledger, spec.budget ?? {}, agentId)
        : withExtraOf(engine.ledger, restored, agentId, tree);
    return engine.childEngine({
      tree,
      token: engine.token.child(),
      ledger: withAgentLedger(agent, ledger, tree),
      account: this.account,
      start: new InProcessStart({
        tree,
        agent,
        execId,
        supervision,
        input,
        attachments,
        deadline: this.times.deadline,
        onPreempt: spec.onPreempt,
        isResumed,
        parentSpan: spec.span,
      }),
    });
  }
}

/** Written out for the usual outcome: two spreads in one literal take ten times as long. */
function withUsage(outcome: HireOutcome, { usage, costUsd }: HireUsage): HireOutcome {
  if (!("result" in outcome) || outcome.stoppedBy !== undefined) return { ...outcome, usage, costUsd };
  const { status, result } = outcome;
  return { status, result, usage, costUsd };
}

/** Whether what is recorded of it is made of texts and numbers, so that the journal need not copy it. */
function isFlat(outcome: HireOutcome): boolean {
  if (!("result" in outcome) || outcome.stoppedBy !== undefined) return false;
  const { structured, stopReason } = outcome.result;
  // An agent in plain JavaScript may give any stop reason.
  return structured === undefined && typeof stopReason === "string";
}
