import {
  type AgentResult,
  type CancellationToken,
  type DeadlineExceededError,
  type HireOutcome,
  type HireSpec,
  type HireUsage,
  isCancellation,
  isPromiseLike,
  isRaviError,
  type JsonObject,
  type Lease,
  type MaybePromise,
  type RunHandle,
  type RunStatus,
} from "@ravi/kernel";
import { least } from "@ravi/kernel/loop";
import type { Account } from "../tree/accounts.ts";
import { withAgentLedger, withExtraOf } from "../tree/ledgers.ts";
import { ChildHandle } from "./child-handle.ts";
import type { Child } from "./child.ts";
import { armDeadline } from "./deadline.ts";
import { accountStatus, hireStatus, NOTHING_USED, outcomeToJSON, restoreOutcome } from "./hire-record.ts";
import type { InProcessEngine } from "./in-process.ts";
import type { Mailbox } from "./mailbox.ts";
import type { Recordable } from "./recordable.ts";
import { InProcessStart } from "./start.ts";
import { orStopped } from "./waiting.ts";

/** How many levels of hires may begin inside each other before one waits a tick: 200 fill the stack that Node gives on ARM. */
const LEVELS_AT_ONCE = 16;

/** What is left of a child whose time was up before it had a seat. */
const UNSEATED: AgentResult = Object.freeze({ status: "partial", output: "", stopReason: "deadline" });

/** When a child has to be done, and until when its parent waits for it. Absolute, so that a restart makes neither longer. */
interface HireTimes {
  readonly deadline: number | null;
  readonly until: number | null;
}

/** A hire in this process: it takes a seat, runs the child to its end, and gives the seat back. */
export class Hiring implements Recordable<HireOutcome>, Child {
  readonly onDoubt = "resume";
  readonly spec: HireSpec;
  /** Whether there is a child, living or over; not where it was denied. */
  hasChild = false;
  before: Child | undefined;
  after: Child | undefined;
  private onStart: (() => void) | undefined;
  private readonly engine: InProcessEngine;
  private readonly account: Account;
  private living: InProcessEngine | undefined;
  private lastMail: Mailbox | undefined;
  private lazyHandle: RunHandle | undefined;
  private decided: HireTimes | undefined;
  private queuedMs = 0;
  /** It was permitted, and found a seat, in this process or before. */
  private isSeated = false;
  private current: RunStatus = "pending";
  private ended: Promise<HireOutcome> | undefined;

  constructor(engine: InProcessEngine, spec: HireSpec) {
    this.engine = engine;
    this.spec = spec;
    // In the order of hiring, whatever each of them then waits for.
    this.account = this.openAccount();
    engine.tree.unasked?.delete(spec.execId);
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

  get status(): RunStatus {
    return this.current;
  }

  get mailbox(): Mailbox | undefined {
    return this.living?.mailbox ?? this.lastMail;
  }

  /** Never rejects for the child's own fate. */
  get outcome(): Promise<HireOutcome> {
    return this.ended ?? Promise.reject(new TypeError("the hire is not watched"));
  }

  get times(): HireTimes {
    return (this.decided ??= this.decideTimes());
  }

  /** How long the child was without a seat: while it waited for its first one, and parked. */
  get parkedMs(): number {
    return this.queuedMs + (this.living?.parkedMs ?? 0);
  }

  /** What the child and all below it have used so far. */
  get used(): HireUsage {
    return this.account.total;
  }

  /** Makes the hire, on record. `onStart` is called when the child begins, which it may never do. */
  start(onStart: () => void): Promise<HireOutcome> {
    this.onStart = onStart;
    return (this.ended = Promise.resolve(this.engine.effect(this)));
  }

  isOver(outcome: HireOutcome): void {
    this.current = hireStatus(outcome);
  }

  /** It was unwound with all the rest, or its parent was stopped before it began. */
  isStopped(): void {
    this.current = "suspended";
    const { tree } = this.engine;
    const { execId, agentId } = this.spec;
    const isOver = tree.suspension === undefined;
    // A seat that an earlier process gave it, and that it never came to take.
    if (isOver && tree.takeRestoredSeat(execId)) void tree.headcount?.release(agentId);
    if (isOver && this.account.status === "pending") this.account.status = "cancelled";
  }

  cancel(error: string | DeadlineExceededError): void {
    this.living?.token.cancel(error);
  }

  fingerprint(): string {
    return this.spec.fingerprint;
  }

  begin(): JsonObject {
    const { agentName, agentId, input, priority, budget } = this.spec;
    const { deadline, until } = this.times;
    const { agentId: parentId } = this.engine.start.supervision;
    const body = { agent: agentName, agentId, input, parentId, deadline };
    if (until === null && priority === undefined && budget === undefined) return body;
    return {
      ...body,
      ...(until !== null && { until }),
      ...(priority !== undefined && { priority }),
      ...(budget !== undefined && { budget: { ...budget } }),
    };
  }

  async run(): Promise<HireOutcome> {
    const { engine, spec } = this;
    const { tree } = engine;
    const isResumed = engine.recordedBegin(spec.key) !== undefined && !this.hasOnlyWaited;
    // A deadline runs from the hire on, also while there is no seat.
    const { until } = this.times;
    let lease: Lease | undefined;
    let child: InProcessEngine;
    try {
      const asked = spec.denial();
      const denied = isPromiseLike(asked) ? await this.permittedInTime(asked) : asked;
      if (denied !== undefined) throw denied;
      // With a headcount all seats of a batch are taken, in order, before anybody begins: so it is awaited in any case.
      const seat = this.takeSeat();
      lease = seat === undefined ? undefined : await seat;
      this.isSeated = true;
      // Nobody begins for a parent that was stopped while the seat, or the record of the hire, was waited for.
      engine.token.check();
      if (until !== null && spec.onFull === "queue") this.queuedMs = this.queuedSince(until);
      this.living = child = this.makeEngine(isResumed);
    } catch (error) {
      lease?.release();
      // A seat that a resumed run brought along is given back as well.
      if (tree.takeRestoredSeat(spec.execId)) {
        this.isSeated = true;
        await tree.headcount?.release(spec.agentId);
      }
      return this.endUnbegun(error);
    }
    this.current = "running";
    this.hasChild = true;
    engine.children.add(this);
    this.onStart?.();
    let outcome: HireOutcome | undefined;
    try {
      if (engine.start.supervision.depth % LEVELS_AT_ONCE === LEVELS_AT_ONCE - 1) await Promise.resolve();
      outcome = await child.run();
      return { ...outcome, ...this.countAbove() };
    } finally {
      this.leave(child, outcome, lease);
    }
  }

  private endUnbegun(error: unknown): HireOutcome {
    const { tree, token } = this.engine;
    // Who waited for a seat when everything was suspended waits for it again.
    if (tree.suspension !== undefined) throw tree.suspension;
    if (!isRaviError(error)) throw error;
    // Its own time was up before there was a seat; where its parent was stopped, that is what counts.
    if (error.code === "DEADLINE_EXCEEDED" && !token.isCancelled) return this.endUnseated();
    const status = isCancellation(error) ? "cancelled" : "denied";
    this.account.status = status;
    return { status, error, ...NOTHING_USED };
  }

  /** A child all the same, that is over without having begun: whoever asks for it finds what became of it. */
  private endUnseated(): HireOutcome {
    this.account.status = "partial";
    this.hasChild = true;
    if (this.isKept) this.engine.children.add(this);
    return { status: "partial", result: UNSEATED, ...this.countAbove() };
  }

  /** Adds what it took to what its parent has used below it, and gives it. */
  private countAbove(): HireUsage {
    const { total } = this.account;
    this.engine.account.addBelow(total);
    return total;
  }

  /** The seat is free whatever else fails: what is told of the end runs code of others. */
  private leave(child: InProcessEngine, outcome: HireOutcome | undefined, lease: Lease | undefined): void {
    // A resumed child may have read a question before the crash, and answer and end before its parent comes to ask again.
    if (this.isKept && child.start.isResumed) this.lastMail = child.mailbox;
    try {
      child.over(outcome);
    } finally {
      lease?.release();
      child.token.dispose();
      this.living = undefined;
      // A finished child leaves its outcome to whoever joins it, and nothing of what it worked with.
      if (!this.isKept) this.engine.children.delete(this);
    }
  }

  record(outcome: HireOutcome): JsonObject {
    const body = outcomeToJSON(outcome);
    return this.isSeated ? body : { ...body, unseated: true };
  }

  restore(body: JsonObject): HireOutcome {
    const outcome = restoreOutcome(body);
    this.current = hireStatus(outcome);
    this.account.status = accountStatus(outcome);
    this.engine.account.addBelow(outcome);
    this.hasChild = outcome.status !== "denied";
    if (this.hasChild && this.isKept) this.engine.children.add(this);
    return outcome;
  }

  spend(): undefined {
    return undefined;
  }

  private get isKept(): boolean {
    return this.spec.isJoinable || this.spec.onTimeout === "leave";
  }

  private openAccount(): Account {
    const { tree, start } = this.engine;
    const { agentId, execId, priority } = this.spec;
    const account = tree.accounts.open(agentId, execId, priority ?? start.supervision.priority);
    account.parent = start.supervision.agentId;
    return account;
  }

  /** Decided once: a child that waits for its seat has no more time than one that does not. */
  private decideTimes(): HireTimes {
    const { engine, spec } = this;
    const recorded = engine.recordedBegin(spec.key);
    if (recorded !== undefined)
      return { deadline: timeAt(recorded, "deadline"), until: timeAt(recorded, "until") };
    const now = engine.clock.now();
    const seconds = spec.budget?.deadlineS ?? null;
    const own = seconds === null ? null : now + seconds * 1000;
    const { deadline } = engine.start;
    return {
      deadline: least(own, deadline),
      until: spec.timeoutMs === undefined ? null : now + spec.timeoutMs,
    };
  }

  /** From its hire to its seat, or to its first fact where an earlier process gave it the seat. */
  private queuedSince(until: number): number {
    const { engine, spec } = this;
    const seatedAt = engine.tree.recording?.of(spec.execId).startedAt ?? engine.clock.now();
    return Math.max(0, seatedAt - (until - (spec.timeoutMs ?? 0)));
  }

  /** A policy may be slow, or hang: that is the hire's time too. A fresh process asks it afresh. */
  private async permittedInTime<T>(asked: PromiseLike<T>): Promise<T> {
    const { engine, spec, times } = this;
    const deadline = Math.min(times.deadline ?? Infinity, engine.clock.now() + (spec.timeoutMs ?? Infinity));
    if (deadline === Infinity) return asked;
    return this.inTime(deadline, (token) =>
      orStopped({ token, suspension: undefined }, Promise.resolve(asked)),
    );
  }

  private takeSeat(): MaybePromise<Lease> | undefined {
    const { engine, spec } = this;
    const { headcount } = engine.tree;
    const { agentId, priority } = spec;
    if (headcount === undefined) return undefined;
    if (engine.tree.takeRestoredSeat(spec.execId)) {
      const release = (): void => void headcount.release(agentId);
      return { agentId, release, [Symbol.dispose]: release };
    }
    const parentId = engine.start.supervision.agentId;
    if (spec.onFull !== "queue") return headcount.acquire(agentId, priority, { parentId });
    const queue = ({ signal }: CancellationToken): MaybePromise<Lease> =>
      headcount.acquire(agentId, priority, { parentId, onFull: "queue", signal });
    const { deadline } = this.times;
    // A parent that has no more time than the child is stopped by then, and tells whoever gives seats.
    const isStoppedByParent = deadline === null || deadline === engine.start.deadline;
    return isStoppedByParent ? queue(engine.token) : this.inTime(deadline, queue);
  }

  /** Waits until then at most, and leaves nothing behind. */
  private async inTime<T>(deadline: number, wait: (token: CancellationToken) => MaybePromise<T>): Promise<T> {
    const { engine, spec } = this;
    const { clock, tree } = engine;
    const token = engine.token.child();
    const disarm = armDeadline({ clock, token, deadline, recording: tree.recording?.of(spec.execId) });
    try {
      return await wait(token);
    } finally {
      disarm();
      token.dispose();
    }
  }

  /** It stood in the queue for a seat when the run broke off: nobody was told yet that it began. */
  private get hasOnlyWaited(): boolean {
    const { onFull, execId } = this.spec;
    return onFull === "queue" && this.engine.tree.recording?.execs.get(execId)?.startedAt === undefined;
  }

  private makeEngine(isResumed: boolean): InProcessEngine {
    const { engine, spec } = this;
    const { tree } = engine;
    const { agent, execId, agentId, input } = spec;
    const supervision = spec.supervision();
    const restored = tree.restoredLedger(execId);
    const ledger =
      restored === undefined
        ? engine.ledger?.child(spec.budget ?? {}, agentId)
        : withExtraOf(engine.ledger, restored, agentId);
    return engine.childEngine({
      tree,
      token: engine.token.child(),
      ledger: withAgentLedger(agent, ledger),
      account: this.account,
      start: new InProcessStart({
        tree,
        agent,
        execId,
        supervision,
        input,
        deadline: this.times.deadline,
        onPreempt: spec.onPreempt,
        isResumed,
      }),
    });
  }
}

function timeAt(body: JsonObject, field: string): number | null {
  const time = body[field];
  return typeof time === "number" ? time : null;
}
