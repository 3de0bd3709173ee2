import type { AgentId } from "@ravi/kernel";
import type { Seat } from "./seat.ts";

/** This many names of finished agents may always stay, so that a small tree is not swept all the time. */
const SLACK = 64;

/**
 * Seats by id. A `Map` keeps deleted entries in its chains until it is rehashed, so deleting and setting the same key repeatedly in a large
 * map walks past all of them. Here a removed id stays as an empty entry; when there are more empty entries than seats, all of them are
 * removed at once.
 */
export class SeatIndex {
  /** Created with the first hire: most runs have none. */
  private seats: Map<AgentId, Seat | undefined> | undefined;
  private empty = 0;

  /** How many ids are kept, including those of finished agents. */
  get names(): number {
    return this.seats?.size ?? 0;
  }

  get(id: AgentId): Seat | undefined {
    return this.seats?.get(id);
  }

  /** The id must not have a seat. */
  add(seat: Seat): void {
    const seats = (this.seats ??= new Map());
    const { size } = seats;
    seats.set(seat.id, seat);
    if (seats.size === size) this.empty--;
  }

  /** The id must have a seat. */
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
