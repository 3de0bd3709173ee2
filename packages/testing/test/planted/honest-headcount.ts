import {
  type AcquireOptions,
  type AgentId,
  BudgetExhaustedError,
  CancellationError,
  type Headcount,
  InvalidValueError,
  type JsonObject,
  type Lease,
  type MaybePromise,
  Priority,
  type QueueOptions,
  type SpawnBudget,
  spawnBudget,
} from "@ravi/kernel";
import type { HeadcountSetup } from "../../src/suites/index.ts";

export interface Member {
  readonly id: AgentId;
  readonly parent: Member | undefined;
  priority: Priority;
  state: "holding" | "paused" | "queued" | "gone";
  place: number;
  tell: ((error?: Error) => void)[];
}

/** What all handles on one headcount share. */
export interface Pool {
  members: Member[];
  total: number;
  places: number;
}

type Options = AcquireOptions | QueueOptions;

/** A headcount that does what the contract says and nothing more: every question is answered by looking at all. */
export class HonestHeadcount implements Headcount {
  readonly pool: Pool;
  protected readonly budget: SpawnBudget;

  constructor({ budget, rootId }: HeadcountSetup, pool?: Pool) {
    this.budget = spawnBudget(budget);
    const root = memberOf(rootId, Priority.NORMAL, undefined);
    this.pool = pool ?? { members: [{ ...root, state: "holding" }], total: 1, places: 0 };
  }

  acquire(id: AgentId, priority: Priority | undefined, options: QueueOptions): Promise<Lease>;
  acquire(id: AgentId, priority?: Priority, options?: AcquireOptions): MaybePromise<Lease>;
  acquire(id: AgentId, priority: Priority = Priority.NORMAL, options: Options = {}): MaybePromise<Lease> {
    if (options.onFull === "queue") return this.wait(id, priority, options);
    return this.leaseOf(this.hire(id, priority, options));
  }

  release(leaseOrId: Lease | AgentId): MaybePromise<void> {
    if (typeof leaseOrId !== "string") return leaseOrId.release();
    const member = this.find(leaseOrId);
    if (member !== undefined) this.end(member);
  }

  isPaused(id: AgentId): MaybePromise<boolean> {
    return this.find(id)?.state === "paused";
  }

  async whenResumed(id: AgentId, signal?: AbortSignal): Promise<void> {
    const member = this.find(id);
    if (member?.state === "paused") await this.told(member, signal);
  }

  priorityOf(id: AgentId): Priority | undefined {
    return this.find(id)?.priority;
  }

  reprioritize(id: AgentId, priority: Priority): MaybePromise<void> {
    const member = this.find(id);
    if (member === undefined) return;
    const was = member.priority;
    member.priority = priority;
    if (member.parent === undefined) return;
    if (member.state === "holding") {
      if (priority >= was || priority >= Priority.NORMAL || this.waiting.length === 0) return;
      this.park(member, "paused");
      this.fill();
    } else if (priority > was) {
      const victim = this.victim(member);
      if (victim === undefined) return;
      const { state } = member;
      this.park(victim, "paused");
      member.state = "holding";
      if (this.canGoOn()) return this.tell(member);
      member.state = state;
      victim.state = "holding";
    }
  }

  snapshot(): JsonObject {
    const { members, total, places } = this.pool;
    const rows = members.map(({ id, priority, state, place, parent }) => ({
      id,
      priority,
      state,
      place,
      parent: parent?.id ?? null,
    }));
    return { rows, total, places };
  }

  protected get holding(): Member[] {
    return this.pool.members.filter(({ state }) => state === "holding");
  }

  /** The best first: highest priority, then oldest. */
  protected get waiting(): Member[] {
    return this.pool.members
      .filter(({ state }) => state === "paused" || state === "queued")
      .toSorted((a, b) => b.priority - a.priority || a.place - b.place);
  }

  protected find(id: AgentId): Member | undefined {
    return this.pool.members.find((member) => member.id === id);
  }

  protected hire(id: AgentId, priority: Priority, { parentId, onFull }: Options): Member {
    const { members } = this.pool;
    const known = this.find(id);
    if (known?.state === "queued" && known.tell.length === 0 && onFull === "queue") return known;
    if (known !== undefined) throw new InvalidValueError({ field: "id", value: id, expected: "another" });
    const parent = parentId === undefined ? members[0] : this.find(parentId);
    const member = memberOf(id, priority, parent);
    const { maxDepth, maxTotal } = this.budget;
    if (maxDepth !== null && above(member).length > maxDepth) throw denial("depth", maxDepth);
    if (maxTotal !== null && this.pool.total >= maxTotal) throw denial("totalAgents", maxTotal);
    this.seat(member, onFull === "queue");
    this.pool.total++;
    return member;
  }

  /** Puts it on a slot or, if it may wait, in the queue. */
  protected seat(member: Member, mayWait: boolean): void {
    const { members } = this.pool;
    const victim = this.hasRoom() ? undefined : this.victim(member);
    if (victim !== undefined) this.park(victim, "paused");
    if (victim !== undefined || this.hasRoom()) {
      member.state = "holding";
      members.push(member);
      return;
    }
    if (!mayWait) throw denial("agents", this.budget.maxAgents);
    members.push(member);
    this.park(member, "queued");
    if (this.canGoOn()) return;
    members.pop();
    throw denial("agents", this.budget.maxAgents);
  }

  protected hasRoom(): boolean {
    return this.holding.length < this.budget.maxAgents;
  }

  protected victim(asker: Member): Member | undefined {
    if (!this.budget.allowPreempt || asker.priority <= Priority.NORMAL) return undefined;
    return this.candidates(asker)
      .toReversed()
      .toSorted((a, b) => a.priority - b.priority)[0];
  }

  /** Those whose slot it may take, the oldest first. */
  protected candidates(asker: Member): Member[] {
    const spared = above(asker);
    return this.holding.filter((one) => one.priority < asker.priority && one.parent && !spared.includes(one));
  }

  protected park(member: Member, state: "paused" | "queued"): void {
    member.state = state;
    member.place = ++this.pool.places;
  }

  protected end(member: Member): void {
    if (member.parent === undefined || member.state === "gone") return;
    if (member.state === "queued") this.pool.total--;
    member.state = "gone";
    this.pool.members = this.pool.members.filter((other) => other !== member);
    for (const tell of member.tell.splice(0)) tell(new CancellationError({ reason: "released" }));
    this.fill();
  }

  /** Gives free slots to those who wait, unless everybody with a slot would then wait for somebody without. */
  protected fill(): void {
    while (this.hasRoom()) {
      const next = this.waiting.find((member) => {
        const { state } = member;
        member.state = "holding";
        const isFine = this.canGoOn();
        member.state = state;
        return isFine;
      });
      if (next === undefined) return;
      next.state = "holding";
      this.tell(next);
    }
  }

  protected canGoOn(): boolean {
    const awaited = new Set(this.waiting.flatMap(above));
    return awaited.size === 0 || this.holding.some((one) => !awaited.has(one));
  }

  protected leaseOf(member: Member): Lease {
    const release = (): void => this.end(member);
    return { agentId: member.id, release, [Symbol.dispose]: release };
  }

  protected tell(member: Member): void {
    for (const tell of member.tell.splice(0)) tell();
  }

  protected async wait(id: AgentId, priority: Priority, options: QueueOptions): Promise<Lease> {
    if (options.signal?.aborted === true) throw new CancellationError({ reason: "aborted" });
    const member = this.hire(id, priority, options);
    const { signal } = options;
    if (member.state === "queued") await this.told(member, signal, () => this.end(member));
    return this.leaseOf(member);
  }

  protected told(member: Member, signal?: AbortSignal, leave?: () => void): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const tell = (error?: Error): void => (error === undefined ? resolve() : reject(error));
    const abort = (): void => {
      member.tell = member.tell.filter((other) => other !== tell);
      reject(new CancellationError({ reason: "aborted" }));
      if (member.state !== "holding") leave?.();
    };
    member.tell.push(tell);
    if (signal?.aborted === true) abort();
    else signal?.addEventListener("abort", abort, { once: true });
    return promise;
  }
}

export function memberOf(id: AgentId, priority: Priority, parent: Member | undefined): Member {
  return { id, parent, priority, state: "gone", place: 0, tell: [] };
}

/** Nearest first; the root is last. */
function above({ parent }: Member): Member[] {
  return parent === undefined ? [] : [parent, ...above(parent)];
}

function denial(dimension: "agents" | "totalAgents" | "depth", limit: number): BudgetExhaustedError {
  return new BudgetExhaustedError({ dimension, used: limit, limit, scope: "lead" });
}
