import type { AgentId } from "@ravi/kernel";
import type { Seat } from "./seat.ts";

/** How many names of finished agents may stay behind in any case, so that a small tree is not swept all the time. */
const SLACK = 64;

/**
 * Seats by id. A `Map` keeps deleted entries in their chain until it is rehashed, so deleting and setting one name again
 * and again in a large one walks past all of them. Here a name that is let go stays, empty, until there are more empty
 * names than seats; then all of them go at once.
 */
export class SeatIndex {
  private seats = new Map<AgentId, Seat | undefined>();
  private empty = 0;

  /** How many names are kept, those of finished agents included. */
  get names(): number {
    return this.seats.size;
  }

  get(id: AgentId): Seat | undefined {
    return this.seats.get(id);
  }

  /** For an id that has no seat. */
  add(seat: Seat): void {
    const { size } = this.seats;
    this.seats.set(seat.id, seat);
    if (this.seats.size === size) this.empty--;
  }

  /** For an id that has one. */
  remove(id: AgentId): void {
    this.seats.set(id, undefined);
    if (++this.empty * 2 > this.seats.size + SLACK) this.sweep();
  }

  /** In the order of hiring. */
  list(): Seat[] {
    return [...this.seats.values()]
      .filter((seat) => seat !== undefined)
      .toSorted((a, b) => a.order - b.order);
  }

  private sweep(): void {
    const kept = new Map<AgentId, Seat | undefined>();
    for (const [id, seat] of this.seats) if (seat !== undefined) kept.set(id, seat);
    this.seats = kept;
    this.empty = 0;
  }
}
