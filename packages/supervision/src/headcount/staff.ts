import { type AgentId, InvalidValueError, Priority, type SpawnBudget } from "@ravi/kernel";
import { denyDepth, denyTotal } from "./denials.ts";
import { SeatIndex } from "./seat-index.ts";
import { Seat } from "./seat.ts";
import type { AgentState } from "./state.ts";

/** The agents in the tree and who hired them. Nothing is kept of an agent that has ended. */
export class Staff {
  readonly root: Seat;
  /** How many agents were hired in this run, including the root and finished ones. */
  total = 1;
  /** All seats except the root's. */
  private readonly seats = new SeatIndex();
  private readonly budget: SpawnBudget;
  private hires = 0;

  constructor(rootId: AgentId, budget: SpawnBudget) {
    this.budget = budget;
    this.root = new Seat({ id: rootId, depth: 0, order: 0, priority: Priority.NORMAL });
  }

  get(id: AgentId): Seat | undefined {
    return id === this.root.id ? this.root : this.seats.get(id);
  }

  /** All seats except the root's, in the order of hiring. */
  hired(): Seat[] {
    return this.seats.list();
  }

  /**
   * The seat of the agent that hires: it holds a slot or is paused. Without an id it is the root. Throws if the agent is unknown
   * or queued.
   */
  parentOf(parentId: AgentId | undefined): Seat {
    if (parentId === undefined) return this.root;
    const parent = this.get(parentId);
    if (parent !== undefined && parent.state !== "queued") return parent;
    const why =
      parent === undefined
        ? `was released, or is not in this tree (the root, set by \`rootId\`, is ${this.root.id})`
        : "is still waiting for its first slot";
    const expected = `an agent that holds a slot, or undefined for the root; this one ${why}`;
    throw new InvalidValueError({ field: "parentId", value: parentId, expected });
  }

  /** A new seat that is not in the tree yet. Throws if it would exceed `maxDepth` or `maxTotal`. */
  candidate(id: AgentId, priority: Priority, parent: Seat): Seat {
    const { maxDepth, maxTotal } = this.budget;
    const depth = parent.depth + 1;
    if (maxDepth !== null && depth > maxDepth) throw denyDepth(this.root.id, id, depth, maxDepth);
    if (maxTotal !== null && this.total >= maxTotal) throw denyTotal(this.root.id, this.total, maxTotal);
    return new Seat({ id, depth, order: this.hires + 1, priority, parent });
  }

  enlist(seat: Seat): void {
    this.hires++;
    this.total++;
    this.seats.add(seat);
  }

  /** Restores the agents of a snapshot into a new staff. Each parent must come before its children. */
  load(agents: readonly AgentState[]): void {
    for (const { id, parentId, depth, priority } of agents) {
      const parent = this.get(parentId) ?? this.root;
      const seat = new Seat({ id, depth, order: this.hires + 1, priority, parent });
      seat.claimed = false;
      this.enlist(seat);
    }
  }

  /** Removes a seat that has ended. Its living children become children of its parent. */
  strike(seat: Seat): void {
    const { parent, awaited } = seat;
    this.seats.remove(seat.id);
    seat.ended = true;
    // The parent now awaits directly what it awaited through this seat. Its count stays above 0, so nobody's state changes.
    if (parent !== undefined && awaited > 0) parent.awaited += awaited - 1;
    seat.awaited = 0;
  }
}
