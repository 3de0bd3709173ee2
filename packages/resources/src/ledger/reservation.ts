import { type Actual, InvalidValueError, type Reservation, type Settlement, type Spend } from "@ravi/kernel";
import type { Account } from "./account.ts";
import { hold, release, spend } from "./parts/chain.ts";
import { serveLines } from "./line.ts";
import { type Amounts, spentAmounts, toSpend } from "./units.ts";

/** Money that is set aside for one call, in a ledger and in all ledgers above it. */
export interface OpenReservation extends Reservation {
  /** Unique in the ledger that it was made on. After a restore, `tracker.reservation(id)` finds it again. */
  readonly id: number;
  /** False after it was settled or cancelled. */
  readonly isOpen: boolean;
  /** Money in dollars, rounded up to a billionth. */
  readonly reserved: Spend;
  /**
   * Charges what the call used and gives the rest back. If the call used more than was reserved, the excess is charged in full, up to the
   * highest amount that can be counted. A field that `actual` leaves out is charged as reserved, so `{ estimated: true }`, or no argument,
   * charges all of it. Returns the warnings and exceeded limits. A second call throws an `InvalidValueError` and charges nothing. A wrong
   * value throws too; the reservation then stays open and can be settled again.
   */
  settle(actual?: Actual): Settlement;
  /**
   * Gives everything back, if nothing was sent. Does nothing if it is already settled or cancelled, so it may be called in a
   * `finally`.
   */
  cancel(): void;
}

/**
 * The open reservations made on one ledger, oldest first. A linked list: with a map, the map took most of the time of a
 * reservation.
 */
export function* eachOpen(account: Account): Generator<HeldReservation> {
  for (let at = account.first; at !== undefined; at = at.next) yield at;
}

/** Contains its amounts instead of pointing to them: one is made for every call, so it is a single object. */
export class HeldReservation implements OpenReservation, Readonly<Amounts> {
  readonly id: number;
  readonly tokens: number;
  readonly nanos: number;
  readonly turns: number;
  readonly toolCalls: number;
  next: HeldReservation | undefined = undefined;
  private previous: HeldReservation | undefined = undefined;
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

  /** Takes its amounts from the whole chain. There must be room for them. */
  open(): this {
    hold(this.account, this);
    return this.link();
  }

  /** Appends it to its account's list. The amounts must already be held in the account. */
  link(): this {
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
        expected:
          "an open reservation: each can be settled once only. Nothing was charged; for another attempt, reserve again",
      });
    }
    const spent = spentAmounts(actual, this);
    this.close("settled");
    const settlement = spend(this.account, spent);
    serveLines(this.account);
    return settlement;
  }

  cancel(): void {
    if (this.state !== "open") return;
    this.close("cancelled");
    serveLines(this.account);
  }

  /** As if it had never been opened. To be called in the same tick, so nobody can have been refused because of it. */
  takeBack(): void {
    this.close("cancelled");
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
    release(account, this);
  }
}
