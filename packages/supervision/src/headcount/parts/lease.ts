import type { AgentId, Lease } from "@ravi/kernel";
import type { Roster } from "../roster.ts";
import type { Member } from "../member.ts";

/** Bound to one hire, not to an id: an old lease cannot release the slot of a later agent with the same id. */
export class SlotLease implements Lease {
  readonly agentId: AgentId;
  readonly #roster: Roster;
  readonly #member: Member;

  constructor(roster: Roster, member: Member) {
    this.agentId = member.id;
    this.#roster = roster;
    this.#member = member;
  }

  release(): void {
    this.#roster.release(this.#member);
  }

  isOf(roster: Roster): boolean {
    return this.#roster === roster;
  }

  [Symbol.dispose](): void {
    this.release();
  }
}
