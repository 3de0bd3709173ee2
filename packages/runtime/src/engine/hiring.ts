import {
  type DeadlineExceededError,
  type HireOutcome,
  type HireSpec,
  type HireUsage,
  isCancellation,
  isRaviError,
  type JsonObject,
  type Lease,
  type RunHandle,
  type RunStatus,
} from "@ravi/kernel";
import type { Account } from "../tree/accounts.ts";
import { withAgentLedger, withExtraOf } from "../tree/ledgers.ts";
import type { Child } from "./child.ts";
import { accountStatus, hireStatus, NOTHING_USED, outcomeToJSON, restoreOutcome } from "./hire-record.ts";
import type { InProcessEngine } from "./in-process.ts";
import type { Recordable } from "./recordable.ts";

/** When a child has to be done, and until when its parent waits for it. Absolute, so that a restart makes neither longer. */
interface HireTimes {
  readonly deadline: number | null;
  readonly until: number | null;
}

/** A hire in this process: it takes a seat, runs the child to its end, and gives the seat back. */
export class Hiring implements Recordable<HireOutcome> {
  readonly onDoubt = "resume";
  readonly started = Promise.withResolvers<void>();
  readonly spec: HireSpec;
  private readonly engine: InProcessEngine;
  private readonly account: Account;
  private living: InProcessEngine | undefined;
  private known: Child | undefined;
  private decided: HireTimes | undefined;
  private queuedMs = 0;
  private status: RunStatus = "pending";
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

  /** Whether there is a child, living or over; not where it was denied. */
  get hasChild(): boolean {
    return this.known !== undefined;
  }

  get child(): Child {
    if (this.known === undefined) throw new TypeError("the hire has not begun");
    return this.known;
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

  /** The outcome, whoever waits for it: a child that nobody joins must not become an unhandled rejection. */
  watch(ended: Promise<HireOutcome>): void {
    this.ended = ended;
    ended.then(
      (outcome) => (this.status = hireStatus(outcome)),
      () => {
        this.status = "suspended";
        // Its parent was stopped before it began.
        const isOver = this.engine.tree.suspension === undefined;
        if (isOver && this.account.status === "pending") this.account.status = "cancelled";
      },
    );
  }

  cancel(error: DeadlineExceededError): void {
    this.living?.token.cancel(error);
  }

  fingerprint(): string {
    return this.spec.fingerprint;
  }

  begin(): JsonObject {
    const { agentName, agentId, input, priority, budget } = this.spec;
    const { deadline, until } = this.times;
    return {
      agent: agentName,
      agentId,
      input,
      parentId: this.engine.start.supervision.agentId,
      deadline,
      ...(until !== null && { until }),
      ...(priority !== undefined && { priority }),
      ...(budget !== undefined && { budget: { ...budget } }),
    };
  }

  async run(): Promise<HireOutcome> {
    const { engine, spec } = this;
    const { tree } = engine;
    const children = engine.children.known;
    const isResumed = engine.recorder.recordedBegin(spec.key) !== undefined;
    // A deadline runs from the hire on, also while there is no seat.
    const { until } = this.times;
    let lease: Lease | undefined;
    try {
      const denied = await spec.denial();
      if (denied !== undefined) throw denied;
      lease = await this.takeSeat();
      if (until !== null && spec.onFull === "queue") this.queuedMs = this.queuedSince(until);
      this.living = this.makeEngine(isResumed);
    } catch (error) {
      lease?.release();
      // A seat that a resumed run brought along is given back as well.
      if (tree.restoredSeats.delete(spec.execId)) await tree.headcount?.release(spec.agentId);
      // Who waited for a seat when everything was suspended waits for it again.
      if (tree.suspension !== undefined) throw tree.suspension;
      if (!isRaviError(error)) throw error;
      const status = isCancellation(error) ? "cancelled" : "denied";
      const outcome: HireOutcome = { status, error, ...NOTHING_USED };
      this.account.status = outcome.status;
      return outcome;
    }
    const child = this.living;
    this.status = "running";
    this.known = { handle: this.makeHandle(), mailbox: child.mailbox, outcome: this.watched() };
    children.set(spec.execId, this.known);
    this.started.resolve();
    try {
      const outcome = await child.run();
      const used = this.account.total;
      this.engine.account.addBelow(used);
      return { ...outcome, ...used };
    } finally {
      lease?.release();
      child.token.dispose();
      this.living = undefined;
      // A finished child leaves its outcome to whoever joins it, and nothing of what it worked with.
      if (this.isKept) children.set(spec.execId, { ...this.known, mailbox: undefined });
      else children.delete(spec.execId);
    }
  }

  record(outcome: HireOutcome): JsonObject {
    return outcomeToJSON(outcome);
  }

  restore(body: JsonObject): HireOutcome {
    const outcome = restoreOutcome(body);
    this.status = hireStatus(outcome);
    this.account.status = accountStatus(outcome);
    this.engine.account.addBelow(outcome);
    if (outcome.status !== "denied") {
      this.known = { handle: this.makeHandle(), mailbox: undefined, outcome: Promise.resolve(outcome) };
      if (this.isKept) this.engine.children.known.set(this.spec.execId, this.known);
    }
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

  private watched(): Promise<HireOutcome> {
    return this.ended ?? Promise.reject(new TypeError("the hire is not watched"));
  }

  private makeHandle(): RunHandle {
    const status = (): RunStatus => this.status;
    const { execId, agentId } = this.spec;
    return {
      runId: this.engine.tree.runId,
      execId,
      agentId,
      get status() {
        return status();
      },
      cancel: (reason) => this.living?.token.cancel(reason),
    };
  }

  /** Decided once: a child that waits for its seat has no more time than one that does not. */
  private decideTimes(): HireTimes {
    const { engine, spec } = this;
    const recorded = engine.recorder.recordedBegin(spec.key);
    if (recorded !== undefined)
      return { deadline: timeAt(recorded, "deadline"), until: timeAt(recorded, "until") };
    const now = engine.clock.now();
    const seconds = spec.budget?.deadlineS ?? null;
    const own = seconds === null ? null : now + seconds * 1000;
    const { deadline } = engine.start;
    return {
      deadline: own === null || deadline === null ? (own ?? deadline) : Math.min(own, deadline),
      until: spec.timeoutMs === undefined ? null : now + spec.timeoutMs,
    };
  }

  /** From its hire to its seat, or to its first fact where an earlier process gave it the seat. */
  private queuedSince(until: number): number {
    const { engine, spec } = this;
    const seatedAt = engine.tree.recording?.of(spec.execId).startedAt ?? engine.clock.now();
    return Math.max(0, seatedAt - (until - (spec.timeoutMs ?? 0)));
  }

  private async takeSeat(): Promise<Lease | undefined> {
    const { engine, spec } = this;
    const { headcount, restoredSeats } = engine.tree;
    const { agentId, priority } = spec;
    if (headcount === undefined) return undefined;
    if (restoredSeats.delete(spec.execId)) {
      const release = (): void => void headcount.release(agentId);
      return { agentId, release, [Symbol.dispose]: release };
    }
    const parentId = engine.start.supervision.agentId;
    if (spec.onFull !== "queue") return headcount.acquire(agentId, priority, { parentId });
    return headcount.acquire(agentId, priority, { parentId, onFull: "queue", signal: engine.token.signal });
  }

  private makeEngine(isResumed: boolean): InProcessEngine {
    const { engine, spec } = this;
    const { tree, start } = engine;
    const { agent, execId, agentId, input } = spec;
    const supervision = spec.supervision();
    const restored = tree.restoredLedgers.get(execId);
    const ledger =
      restored === undefined
        ? engine.ledger?.child(spec.budget ?? {}, agentId)
        : withExtraOf(engine.ledger, restored, agentId);
    return engine.descend({
      token: engine.token.child(),
      ledger: withAgentLedger(agent, ledger),
      start: {
        agent,
        execId,
        supervision,
        input,
        scope: start.scope,
        tenantId: start.tenantId,
        deadline: this.times.deadline,
        onPreempt: spec.onPreempt,
        isResumed,
      },
    });
  }
}

function timeAt(body: JsonObject, field: string): number | null {
  const time = body[field];
  return typeof time === "number" ? time : null;
}
