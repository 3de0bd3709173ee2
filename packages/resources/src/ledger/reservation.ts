import { type Actual, InvalidValueError, type Reservation, type Settlement, type Spend } from "@ravi/kernel";
import type { Account } from "./account.ts";
import { letGo, spend } from "./chain.ts";
import { type Amounts, spentAmounts, toSpend } from "./units.ts";

/** Money that is set aside for one call, in a ledger and in all above it. */
export interface OpenReservation extends Reservation {
  /** Unique in the ledger that it was made on. By it, `tracker.reservation(id)` finds it again after a restore. */
  readonly id: number;
  readonly isOpen: boolean;
  readonly reserved: Spend;
  /**
   * Charges what the call took, gives the rest back, and charges an excess in full. What `actual` does not say is charged
   * as it was reserved; so is all of it by `{ estimated: true }`. A second call is an error and charges nothing. A wrong
   * value is an error too, and leaves the reservation open and charged, to be settled again.
   */
  settle(actual: Actual): Settlement;
  /** Nothing was sent: gives all of it back. Does nothing once it is settled or cancelled, so it may stand in a `finally`. */
  cancel(): void;
}

/** The open reservations of one ledger, oldest first. A linked list: a map of them took most of the time of a reservation. */
export interface OpenList {
  first: Held | undefined;
  last: Held | undefined;
}

export function* eachOpen(list: OpenList): Generator<Held> {
  for (let at = list.first; at !== undefined; at = at.next) yield at;
}

export class Held implements OpenReservation {
  readonly id: number;
  readonly amounts: Amounts;
  next: Held | undefined = undefined;
  private previous: Held | undefined;
  private readonly account: Account;
  private readonly list: OpenList;
  private state: "open" | "settled" | "cancelled" = "open";

  /** The account must hold the amounts already. */
  constructor(id: number, account: Account, amounts: Amounts, list: OpenList) {
    this.id = id;
    this.account = account;
    this.amounts = amounts;
    this.list = list;
    this.previous = list.last;
  }

  /** Puts it at the end of the list. */
  enlist(): this {
    const { list } = this;
    if (list.last === undefined) list.first = this;
    else list.last.next = this;
    list.last = this;
    return this;
  }

  get isOpen(): boolean {
    return this.state === "open";
  }

  get reserved(): Spend {
    return toSpend(this.amounts);
  }

  settle(actual: Actual): Settlement {
    if (this.state !== "open") {
      throw new InvalidValueError({
        field: `reservation ${this.id} of ${this.account.scope}`,
        value: this.state,
        expected: "an open one: settle each once, and reserve anew for another attempt. Nothing was charged",
      });
    }
    const spent = spentAmounts(actual, this.amounts);
    this.close("settled");
    return spend(this.account, spent);
  }

  cancel(): void {
    if (this.state === "open") this.close("cancelled");
  }

  private close(state: "settled" | "cancelled"): void {
    this.state = state;
    const { previous, next, list } = this;
    if (previous === undefined) list.first = next;
    else previous.next = next;
    if (next === undefined) list.last = previous;
    else next.previous = previous;
    this.previous = undefined;
    this.next = undefined;
    letGo(this.account, this.amounts);
  }
}
