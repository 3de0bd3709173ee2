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
  /** Made with the first hire: most runs have none. */
  private seats: Map<AgentId, Seat | undefined> | undefined;
  private empty = 0;

  /** How many names are kept, those of finished agents included. */
  get names(): number {
    return this.seats?.size ?? 0;
  }

  get(id: AgentId): Seat | undefined {
    return this.seats?.get(id);
  }

  /** For an id that has no seat. */
  add(seat: Seat): void {
    const seats = (this.seats ??= new Map());
    const { size } = seats;
    seats.set(seat.id, seat);
    if (seats.size === size) this.empty--;
  }

  /** For an id that has one. */
  remove(id: AgentId): void {
    const { seats } = this;
    if (seats === undefined) return;
    seats.set(id, undefined);
    if (++this.empty * 2 > seats.size + SLACK) this.sweep(seats);
  }

  /** In the order of hiring. */
  list(): Seat[] {
    return [...(this.seats?.values() ?? [])]
      .filter((seat) => seat !== undefined)
      .toSorted((a, b) => a.order - b.order);
  }

  private sweep(seats: ReadonlyMap<AgentId, Seat | undefined>): void {
    const kept = new Map<AgentId, Seat | undefined>();
    for (const [id, seat] of seats) if (seat !== undefined) kept.set(id, seat);
    this.seats = kept;
    this.empty = 0;
  }
}
