import { type AgentId, InvalidValueError, Priority, type SpawnBudget } from "@ravi/kernel";
import { denyDepth, denyTotal } from "./denials.ts";
import { SeatIndex } from "./seat-index.ts";
import { Seat } from "./seat.ts";
import type { AgentState } from "./state.ts";

/** Who is in the tree, hired by whom. An agent that ended leaves nothing here. */
export class Staff {
  readonly root: Seat;
  /** How many were ever hired, the root included. */
  total = 1;
  /** All but the root. */
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

  /** Without the root, in the order of hiring. */
  hired(): Seat[] {
    return this.seats.list();
  }

  /** Who hires: somebody with a slot, or paused. */
  parentOf(parentId: AgentId | undefined): Seat {
    if (parentId === undefined) return this.root;
    const parent = this.get(parentId);
    if (parent !== undefined && parent.state !== "queued") return parent;
    const why =
      parent === undefined
        ? `was released, or is not in this tree, whose root is ${this.root.id}: \`rootId\` says who that is`
        : "still waits for its first slot";
    const expected = `an agent that holds a slot (this one ${why}), or none for the root`;
    throw new InvalidValueError({ field: "parentId", value: parentId, expected });
  }

  /** A seat that may be taken as far as depth and total go; not in the tree yet. */
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

  /** Into a new staff, what another one had. A parent stands before its children. */
  load(agents: readonly AgentState[]): void {
    for (const { id, parentId, depth, priority } of agents) {
      const parent = this.get(parentId) ?? this.root;
      const seat = new Seat({ id, depth, order: this.hires + 1, priority, parent });
      seat.claimed = false;
      this.enlist(seat);
    }
  }

  /** Takes a seat that is gone off the list. Its living children become its parent's. */
  strike(seat: Seat): void {
    const { parent, awaited } = seat;
    this.seats.remove(seat.id);
    seat.ended = true;
    // What the parent awaited through it, it now awaits by itself; it is no less, so nobody's standing changes.
    if (parent !== undefined && awaited > 0) parent.awaited += awaited - 1;
    seat.awaited = 0;
  }
}
