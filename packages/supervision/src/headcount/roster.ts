import {
  type AgentId,
  CancellationError,
  type Clock,
  InvalidValueError,
  Priority,
  type SpawnBudget,
} from "@ravi/kernel";
import { denyEndless, denyFull, denyPausedParent, denyTwice } from "./denials.ts";
import { Floor } from "./floor.ts";
import { rankOf } from "./ranks.ts";
import type { Seat } from "./seat.ts";
import { Staff } from "./staff.ts";
import type { RosterState } from "./state.ts";

export interface RosterOptions {
  readonly budget: SpawnBudget;
  readonly rootId: AgentId;
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
 * The rules of the headcount, in one synchronous state machine without promises. Always true between two calls: `held` is
 * at most `maxAgents`; nobody waits while a slot is free; and while somebody waits, some holder awaits nobody who does.
 */
export class Roster {
  readonly budget: SpawnBudget;
  readonly staff: Staff;
  protected readonly floor: Floor;
  private readonly clock: Clock;
  private readonly agingMs: number;
  private latest = 0;

  constructor(options: RosterOptions) {
    this.budget = options.budget;
    this.clock = options.clock;
    this.agingMs = options.agingMs;
    this.floor = new Floor(options.agingMs);
    this.staff = new Staff(options.rootId, options.budget);
    this.floor.hold(this.staff.root);
  }

  get held(): number {
    return this.floor.held;
  }

  get hasWaiting(): boolean {
    return this.floor.queue.size > 0;
  }

  /** Those who wait, the longest first. */
  waiting(): Seat[] {
    return this.floor.queue.list();
  }

  /** The new seat, holding or queued; or the one that a restore brought back under this id. Throws when denied. */
  hire(request: HireRequest): Seat {
    const { id, priority, onFull } = request;
    const known = this.staff.get(id);
    if (known !== undefined) return this.claim(known, onFull);
    const parent = this.staff.parentOf(request.parentId);
    const { budget, held } = this;
    const scope = this.staff.root.id;
    if (parent.state === "paused") throw denyPausedParent(scope, parent.id, held, budget.maxAgents);
    const seat = this.staff.candidate(id, priority, parent);
    if (this.hasRoom()) return this.enter(seat);
    const victim = this.mayPreempt(priority) ? this.chooseVictim(seat) : undefined;
    if (victim !== undefined) {
      this.pause(victim);
      return this.enter(seat);
    }
    if (onFull === "deny") throw denyFull(scope, held, budget, seat.priority);
    this.floor.wait(seat, "queued", this.now());
    if (this.isEndless()) {
      this.floor.unwait(seat);
      throw denyEndless(scope, held, budget.maxAgents);
    }
    this.staff.enlist(seat);
    return seat;
  }

  /** Gives back what it has: a slot, its place among the paused, or its place in the queue. */
  release(seat: Seat): void {
    if (seat === this.staff.root || seat.state === "gone") return;
    if (seat.isWaiting) {
      this.drop(seat);
      return;
    }
    this.floor.unhold(seat);
    this.staff.strike(seat);
    this.fill();
  }

  reprioritize(seat: Seat, priority: Priority): void {
    const was = seat.priority;
    seat.priority = priority;
    if (was === priority || seat === this.staff.root) return;
    if (seat.isWaiting) {
      this.floor.queue.refile(seat);
      if (priority > was && this.mayPreempt(priority)) this.resumeByForce(seat);
      return;
    }
    this.floor.holders.remove(seat);
    this.floor.holders.add(seat);
    if (priority < was && priority < Priority.NORMAL && this.floor.queue.size > 0) {
      // It stands behind those who wait, and has its slot back at once if it is still the best of them.
      this.pause(seat);
      this.fill();
    }
  }

  dump(): RosterState {
    const { root, total } = this.staff;
    return {
      budget: this.budget,
      agingMs: this.agingMs,
      now: this.latest,
      total,
      root: { id: root.id, priority: root.priority },
      agents: this.staff
        .hired()
        .map(({ id, parent, depth, priority }) => ({ id, parentId: (parent ?? root).id, depth, priority })),
      waiting: this.waiting().map(({ id, state, since }) => ({
        id,
        as: state === "queued" ? "queued" : "paused",
        since,
      })),
    };
  }

  /** Into a new roster, what another one dumped. Everybody but the root can then be claimed once. */
  load(state: RosterState): void {
    const { staff, floor } = this;
    this.latest = state.now;
    staff.root.priority = state.root.priority;
    staff.load(state.agents);
    const waiting = new Map(state.waiting.map((place) => [place.id, place]));
    for (const seat of staff.hired()) if (!waiting.has(seat.id)) floor.hold(seat);
    for (const { id, as, since } of state.waiting) {
      const seat = staff.get(id);
      if (seat !== undefined) floor.wait(seat, as, since);
    }
    staff.total = state.total;
    if (floor.queue.size > 0 && this.isEndless()) {
      const expected = "at least one holder that awaits nobody who waits";
      throw new InvalidValueError({ field: "snapshot.waiting", value: state.waiting, expected });
    }
  }

  protected hasRoom(): boolean {
    return this.floor.held < this.budget.maxAgents;
  }

  /** Whose slot the asker may take. */
  protected chooseVictim(asker: Seat): Seat | undefined {
    return this.floor.holders.victim(rankOf(asker.priority), asker.parent);
  }

  /**
   * Who gets a free slot: the best, unless every holder already awaits somebody in the queue. Then it is the best who
   * awaits nobody there; given to another, it would be the last slot ever given.
   */
  protected chooseNext(now: number): Seat | undefined {
    return this.floor.free > 0 ? this.floor.queue.best(now) : this.floor.queue.bestReady(now);
  }

  /** Asked while somebody waits: no holder is left that could finish without one of those who wait. */
  protected isEndless(): boolean {
    return this.floor.free === 0;
  }

  /** Takes a holder's slot and puts it in the queue. */
  protected pause(seat: Seat): void {
    // Asked first: a clock that fails must not leave somebody between its slot and the queue.
    const now = this.now();
    this.floor.unhold(seat);
    this.floor.wait(seat, "paused", now);
  }

  /** Ends somebody who waits. No slot is freed by it, because it holds none. */
  protected drop(seat: Seat): void {
    const { state, waiters } = seat;
    this.floor.unwait(seat);
    this.staff.strike(seat);
    // A hire that was never given a slot leaves nothing behind, not even in the total.
    if (state === "queued") this.staff.total--;
    if (waiters === undefined) return;
    seat.waiters = undefined;
    const error = new CancellationError({ reason: `${seat.id} was released while it was ${state}` });
    for (const waiter of waiters) waiter.dropped(error);
  }

  /** Gives free slots to who waits. */
  protected fill(): void {
    while (this.floor.queue.size > 0 && this.hasRoom()) {
      const next = this.chooseNext(this.nowOrLatest());
      if (next === undefined) return;
      this.resume(next);
    }
  }

  private resume(seat: Seat): void {
    const { waiters } = seat;
    this.floor.unwait(seat);
    this.floor.hold(seat);
    if (waiters === undefined) return;
    seat.waiters = undefined;
    for (const waiter of waiters) waiter.granted();
  }

  /** For somebody promoted while waiting. Undone where it would leave no holder that can finish by itself. */
  private resumeByForce(seat: Seat): void {
    const victim = this.chooseVictim(seat);
    if (victim === undefined) return;
    this.pause(victim);
    if (this.floor.free > 0 || seat.awaited === 0) {
      this.resume(seat);
    } else {
      this.floor.unwait(victim);
      this.floor.hold(victim);
    }
  }

  private mayPreempt(priority: Priority): boolean {
    return this.budget.allowPreempt && priority > Priority.NORMAL;
  }

  private claim(seat: Seat, onFull: "deny" | "queue"): Seat {
    if (seat.claimed) throw denyTwice(seat.id, seat.state);
    if (seat.state === "queued" && onFull === "deny") {
      throw denyFull(this.staff.root.id, this.held, this.budget, seat.priority);
    }
    seat.claimed = true;
    return seat;
  }

  private enter(seat: Seat): Seat {
    this.floor.hold(seat);
    this.staff.enlist(seat);
    return seat;
  }

  /** A slot that is free is given on, whatever the clock does: nobody else would ever give it. */
  private nowOrLatest(): number {
    try {
      return this.now();
    } catch {
      return this.latest;
    }
  }

  /** Time never runs backwards here, or a place could lose what it has waited. */
  private now(): number {
    const now = this.clock.now();
    if (now > this.latest && now < Infinity) this.latest = now;
    return this.latest;
  }
}
