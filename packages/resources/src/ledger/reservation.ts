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
   * Charges what the call took, gives the rest back, and charges an excess in full, up to the most that can be counted. What
   * `actual` does not say is charged as it was reserved; so is all of it by `{ estimated: true }`, or with nothing said. A
   * second call is an error and charges nothing. A wrong value is an error too, and leaves the reservation open and charged,
   * to be settled again.
   */
  settle(actual?: Actual): Settlement;
  /** Nothing was sent: gives all of it back. Does nothing once it is settled or cancelled, so it may stand in a `finally`. */
  cancel(): void;
}

/** The open reservations of one ledger, oldest first. A linked list: a map of them took most of the time of a reservation. */
export function* eachOpen(account: Account): Generator<Held> {
  for (let at = account.first; at !== undefined; at = at.next) yield at;
}

/** A reservation is its own amounts: it is made for every call, and so of one piece. */
export class Held implements OpenReservation, Readonly<Amounts> {
  readonly id: number;
  readonly tokens: number;
  readonly nanos: number;
  readonly turns: number;
  readonly toolCalls: number;
  next: Held | undefined = undefined;
  private previous: Held | undefined = undefined;
  private readonly account: Account;
  private state: "open" | "settled" | "cancelled" = "open";

  constructor(id: number, account: Account, amounts: Readonly<Amounts>) {
    this.id = id;
    this.account = account;
    this.tokens = amounts.tokens;
    this.nanos = amounts.nanos;
    this.turns = amounts.turns;
    this.toolCalls = amounts.toolCalls;
  }

  /** Puts it at the end of its account's list. The account must hold the amounts already. */
  enlist(): this {
    const { account } = this;
    this.previous = account.last;
    if (account.last === undefined) account.first = this;
    else account.last.next = this;
    account.last = this;
    return this;
  }

  get isOpen(): boolean {
    return this.state === "open";
  }

  get reserved(): Spend {
    return toSpend(this);
  }

  settle(actual: Actual = {}): Settlement {
    if (this.state !== "open") {
      throw new InvalidValueError({
        field: `reservation ${this.id} of ${this.account.scope}`,
        value: this.state,
        expected: "an open one: settle each once, and reserve anew for another attempt. Nothing was charged",
      });
    }
    const spent = spentAmounts(actual, this);
    this.close("settled");
    return spend(this.account, spent);
  }

  cancel(): void {
    if (this.state === "open") this.close("cancelled");
  }

  private close(state: "settled" | "cancelled"): void {
    this.state = state;
    const { previous, next, account } = this;
    if (previous === undefined) account.first = next;
    else previous.next = next;
    if (next === undefined) account.last = previous;
    else next.previous = previous;
    this.previous = undefined;
    this.next = undefined;
    letGo(account, this);
  }
}
