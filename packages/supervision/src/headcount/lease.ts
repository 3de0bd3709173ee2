import type { AgentId, Lease } from "@ravi/kernel";
import type { Roster } from "./roster.ts";
import type { Seat } from "./seat.ts";

/** Bound to one hire, not to an id: an old lease cannot release the slot of a later agent with the same id. */
export class SeatLease implements Lease {
  readonly agentId: AgentId;
  readonly #roster: Roster;
  readonly #seat: Seat;

  constructor(roster: Roster, seat: Seat) {
    this.agentId = seat.id;
    this.#roster = roster;
    this.#seat = seat;
  }

  release(): void {
    this.#roster.release(this.#seat);
  }

  isOf(roster: Roster): boolean {
    return this.#roster === roster;
  }

  [Symbol.dispose](): void {
    this.release();
  }
}
