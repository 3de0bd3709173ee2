import {
  type AgentId,
  CancellationError,
  type Clock,
  InvalidValueError,
  Priority,
  type SpawnBudget,
} from "@ravi/kernel";
import { denyDeadlock, denyFull, denyPausedParent, denyDuplicate } from "./parts/denials.ts";
import { Occupancy } from "./occupancy.ts";
import { rankOf } from "./parts/ranks.ts";
import type { Member } from "./member.ts";
import { AgentTree } from "./agent-tree.ts";
import type { RosterState } from "./state.ts";

export interface RosterOptions {
  readonly budget: SpawnBudget;
  readonly rootId: AgentId | undefined;
  readonly clock: Clock;
  readonly agingMs: number;
}

export interface HireRequest {
  readonly id: AgentId;
  readonly priority: Priority;
  readonly parentId?: AgentId | undefined;
  readonly onFull: "deny" | "queue";
}

/**
 * The rules of the headcount as one synchronous state machine without promises. Invariants between two calls: `held` is at most
 * `maxAgents`; nobody waits while a slot is free; and while somebody waits, at least one holder awaits nobody who waits.
 */
export class Roster {
  readonly budget: SpawnBudget;
  readonly tree: AgentTree;
  protected readonly occupancy: Occupancy;
  private readonly clock: Clock;
  private readonly agingMs: number;
  private latest = 0;

  constructor(options: RosterOptions) {
    this.budget = options.budget;
    this.clock = options.clock;
    this.agingMs = options.agingMs;
    this.occupancy = new Occupancy(options.agingMs);
    this.tree = new AgentTree(options.rootId, options.budget);
    this.occupancy.hold(this.tree.root);
  }

  get held(): number {
    return this.occupancy.held;
  }

  get hasWaiting(): boolean {
    return this.occupancy.queue.size > 0;
  }

  /** The waiting members, the longest-waiting first. */
  waiting(): Member[] {
    return this.occupancy.queue.list();
  }

  /**
   * Returns the new member, holding or queued, or the member that a restore brought back under this id. Throws if the hire is denied.
   */
  hire(request: HireRequest): Member {
    const { id, priority, onFull } = request;
    const known = this.tree.get(id);
    if (known !== undefined) return this.claim(known, onFull);
    const parent = this.tree.parentOf(request.parentId, id);
    const { budget, held } = this;
    const scope = this.tree.root.id;
    if (parent.state === "paused") throw denyPausedParent(scope, parent.id, held, budget.maxAgents);
    const member = this.tree.candidate(id, priority, parent);
    if (this.hasRoom()) return this.enter(member);
    const victim = this.mayPreempt(priority) ? this.chooseVictim(member) : undefined;
    if (victim !== undefined) {
      this.pause(victim);
      return this.enter(member);
    }
    if (onFull === "deny") throw denyFull(scope, held, budget, member.priority);
    this.occupancy.wait(member, "queued", this.now());
    if (this.isDeadlocked()) {
      this.occupancy.unwait(member);
      throw denyDeadlock(scope, held, budget.maxAgents);
    }
    this.tree.add(member);
    return member;
  }

  /** Releases what the member has: a slot, or its place in the queue as a paused agent or a queued hire. */
  release(member: Member): void {
    if (member === this.tree.root || member.state === "gone") return;
    if (member.isWaiting) {
      this.drop(member);
      return;
    }
    this.occupancy.unhold(member);
    this.tree.remove(member);
    this.fill();
  }

  /**
   * Changes the priority. A waiting member that is promoted may preempt; a holder that is demoted below NORMAL may lose its slot.
   */
  reprioritize(member: Member, priority: Priority): void {
    const was = member.priority;
    member.priority = priority;
    if (was === priority || member === this.tree.root) return;
    if (member.isWaiting) {
      this.occupancy.queue.refile(member);
      if (priority > was && this.mayPreempt(priority)) this.resumeByPreempting(member);
      return;
    }
    this.occupancy.holders.remove(member);
    this.occupancy.holders.add(member);
    if (priority < was && priority < Priority.NORMAL && this.occupancy.queue.size > 0) {
      // It goes behind those who wait, and gets its slot back at once if it is still the best.
      this.pause(member);
      this.fill();
    }
  }

  dump(): RosterState {
    const { root, total } = this.tree;
    return {
      budget: this.budget,
      agingMs: this.agingMs,
      now: this.latest,
      total,
      root: { id: root.id, priority: root.priority },
      agents: this.tree
        .list()
        .map(({ id, parent, depth, priority }) => ({ id, parentId: (parent ?? root).id, depth, priority })),
      waiting: this.waiting().map(({ id, state, since }) => ({
        id,
        as: state === "queued" ? "queued" : "paused",
        since,
      })),
    };
  }

  /** Restores a `dump` into a new roster. Each agent except the root can then be claimed once. */
  load(state: RosterState): void {
    const { tree, occupancy } = this;
    this.latest = state.now;
    tree.root.priority = state.root.priority;
    tree.load(state.agents);
    const waiting = new Map(state.waiting.map((place) => [place.id, place]));
    for (const member of tree.list()) if (!waiting.has(member.id)) occupancy.hold(member);
    for (const { id, as, since } of state.waiting) {
      const member = tree.get(id);
      if (member !== undefined) occupancy.wait(member, as, since);
    }
    tree.total = state.total;
    if (occupancy.queue.size > 0 && this.isDeadlocked()) {
      const expected = "at least one agent that holds a slot and waits for no agent without one";
      throw new InvalidValueError({ field: "snapshot.waiting", value: state.waiting, expected });
    }
  }

  protected hasRoom(): boolean {
    return this.occupancy.held < this.budget.maxAgents;
  }

  /** The holder that loses its slot to `asker`; undefined if there is none that it may preempt. */
  protected chooseVictim(asker: Member): Member | undefined {
    return this.occupancy.holders.victim(rankOf(asker.priority), asker.parent);
  }

  /**
   * The member that gets a free slot: the best in the queue, unless every holder already awaits somebody in the queue. Then it is the best
   * member that awaits nobody there: given to any other, the slot would never be released, and the tree would be stuck.
   */
  protected chooseNext(now: number): Member | undefined {
    return this.occupancy.free > 0 ? this.occupancy.queue.best(now) : this.occupancy.queue.bestReady(now);
  }

  /** Call it while somebody waits. True if no holder is left that could finish without one of the waiting members. */
  protected isDeadlocked(): boolean {
    return this.occupancy.free === 0;
  }

  /** Takes the slot from a holder and puts it in the queue. */
  protected pause(member: Member): void {
    // Read the clock first: if it throws, the member must not be left between its slot and the queue.
    const now = this.now();
    this.occupancy.unhold(member);
    this.occupancy.wait(member, "paused", now);
  }

  /** Removes a waiting member. It holds no slot, so none is freed. */
  protected drop(member: Member): void {
    const { state, waiters } = member;
    this.occupancy.unwait(member);
    this.tree.remove(member);
    // A hire that never got a slot does not count in the total.
    if (state === "queued") this.tree.total--;
    if (waiters === undefined) return;
    member.waiters = undefined;
    const error = new CancellationError({ reason: `${member.id} was released while it was ${state}` });
    for (const waiter of waiters) waiter.dropped(error);
  }

  /** Gives free slots to waiting members. */
  protected fill(): void {
    while (this.occupancy.queue.size > 0 && this.hasRoom()) {
      const next = this.chooseNext(this.nowOrLatest());
      if (next === undefined) return;
      this.resume(next);
    }
  }

  private resume(member: Member): void {
    const { waiters } = member;
    this.occupancy.unwait(member);
    this.occupancy.hold(member);
    if (waiters === undefined) return;
    member.waiters = undefined;
    for (const waiter of waiters) waiter.granted();
  }

  /** For a member that was promoted while it waited. Undone if it would leave no holder that can finish without a waiting member. */
  private resumeByPreempting(member: Member): void {
    const victim = this.chooseVictim(member);
    if (victim === undefined) return;
    this.pause(victim);
    if (this.occupancy.free > 0 || member.awaited === 0) {
      this.resume(member);
    } else {
      this.occupancy.unwait(victim);
      this.occupancy.hold(victim);
    }
  }

  private mayPreempt(priority: Priority): boolean {
    return this.budget.allowPreempt && priority > Priority.NORMAL;
  }

  private claim(member: Member, onFull: "deny" | "queue"): Member {
    if (member.claimed) throw denyDuplicate(member.id, member.state);
    if (member.state === "queued" && onFull === "deny") {
      throw denyFull(this.tree.root.id, this.held, this.budget, member.priority);
    }
    member.claimed = true;
    return member;
  }

  private enter(member: Member): Member {
    this.occupancy.hold(member);
    this.tree.add(member);
    return member;
  }

  /** A clock that throws must not keep a free slot from being given: nothing else would give it later. */
  private nowOrLatest(): number {
    try {
      return this.now();
    } catch {
      return this.latest;
    }
  }

  /** Never goes backwards, or a member could lose waiting time. */
  private now(): number {
    const now = this.clock.now();
    if (now > this.latest && now < Infinity) this.latest = now;
    return this.latest;
  }
}
