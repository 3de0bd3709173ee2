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
 * The rules of the headcount as one synchronous state machine without promises. Invariants between two calls: `held` is at most
 * `maxAgents`; nobody waits while a slot is free; and while somebody waits, at least one holder awaits nobody who waits.
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

  /** The waiting seats, the longest-waiting first. */
  waiting(): Seat[] {
    return this.floor.queue.list();
  }

  /**
   * Returns the new seat, holding or queued, or the seat that a restore brought back under this id. Throws if the hire is denied.
   */
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

  /** Releases what the seat has: a slot, or its place in the queue as a paused agent or a queued hire. */
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

  /**
   * Changes the priority. A waiting seat that is promoted may preempt; a holder that is demoted below NORMAL may lose its slot.
   */
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
      // It goes behind those who wait, and gets its slot back at once if it is still the best.
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

  /** Restores a `dump` into a new roster. Each agent except the root can then be claimed once. */
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
      const expected = "at least one agent that holds a slot and waits for no agent without one";
      throw new InvalidValueError({ field: "snapshot.waiting", value: state.waiting, expected });
    }
  }

  protected hasRoom(): boolean {
    return this.floor.held < this.budget.maxAgents;
  }

  /** The holder that loses its slot to `asker`; undefined if there is none that it may preempt. */
  protected chooseVictim(asker: Seat): Seat | undefined {
    return this.floor.holders.victim(rankOf(asker.priority), asker.parent);
  }

  /**
   * The seat that gets a free slot: the best in the queue, unless every holder already awaits somebody in the queue. Then it is the best
   * seat that awaits nobody there: given to any other, the slot would never be released, and the tree would be stuck.
   */
  protected chooseNext(now: number): Seat | undefined {
    return this.floor.free > 0 ? this.floor.queue.best(now) : this.floor.queue.bestReady(now);
  }

  /** Call it while somebody waits. True if no holder is left that could finish without one of the waiting seats. */
  protected isEndless(): boolean {
    return this.floor.free === 0;
  }

  /** Takes the slot from a holder and puts it in the queue. */
  protected pause(seat: Seat): void {
    // Read the clock first: if it throws, the seat must not be left between its slot and the queue.
    const now = this.now();
    this.floor.unhold(seat);
    this.floor.wait(seat, "paused", now);
  }

  /** Removes a waiting seat. It holds no slot, so none is freed. */
  protected drop(seat: Seat): void {
    const { state, waiters } = seat;
    this.floor.unwait(seat);
    this.staff.strike(seat);
    // A hire that never got a slot does not count in the total.
    if (state === "queued") this.staff.total--;
    if (waiters === undefined) return;
    seat.waiters = undefined;
    const error = new CancellationError({ reason: `${seat.id} was released while it was ${state}` });
    for (const waiter of waiters) waiter.dropped(error);
  }

  /** Gives free slots to waiting seats. */
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

  /** For a seat that was promoted while it waited. Undone if it would leave no holder that can finish without a waiting seat. */
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

  /** A clock that throws must not keep a free slot from being given: nothing else would give it later. */
  private nowOrLatest(): number {
    try {
      return this.now();
    } catch {
      return this.latest;
    }
  }

  /** Never goes backwards, or a seat could lose waiting time. */
  private now(): number {
    const now = this.clock.now();
    if (now > this.latest && now < Infinity) this.latest = now;
    return this.latest;
  }
}
