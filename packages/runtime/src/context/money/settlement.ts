import {
  classifyError,
  HookEvent,
  InvalidValueError,
  isPromiseLike,
  isRaviError,
  type LLMClient,
  type MaybePromise,
  NO_USAGE,
  type Price,
  type Reservation,
  type Settlement,
  totalTokens,
  type Usage,
} from "@ravi/kernel";
import { warningsIn } from "@ravi/kernel/loop";
import { andThen } from "../../and-then.ts";
import { orLog } from "../../or-log.ts";
import type { Execution } from "../execution.ts";
import type { Attempt } from "./attempt.ts";
import { type Charge, chargeAtMost, usdOf } from "./charge.ts";
import { isProgramError, isRefusal } from "./failure-cost.ts";
import { noteCharge } from "./notes.ts";

// The end of an attempt's money. However it ended, it comes to one charge, and `book` does the rest: the charge goes into the bill,
// the accounts and the journal, and then what was set aside is settled with the ledger.

/** An attempt that was answered. Its usage is what the provider says, if it says any; the price is the meter's. */
export function settle(attempt: Attempt, usage: Usage | undefined, isWaste: boolean): MaybePromise<void> {
  if (usage === undefined) return book(attempt, chargeAtMost(attempt.estimate, isWaste));
  const { meter } = attempt.exec.ports;
  let price: MaybePromise<Price>;
  try {
    price = meter === undefined ? UNPRICED : meter.price(attempt.model.info, usage, attempt.estimate);
  } catch (error) {
    return lose(attempt, undefined, error);
  }
  return isPromiseLike(price)
    ? settleWhenPriced(attempt, usage, price, isWaste)
    : settleAt(price, attempt, usage, isWaste);
}

/** A meter may never answer: while it does not, the attempt stays open, and may be abandoned. */
async function settleWhenPriced(
  attempt: Attempt,
  usage: Usage,
  pricing: PromiseLike<Price>,
  isWaste: boolean,
): Promise<void> {
  let price: Price;
  try {
    price = await pricing;
  } catch (error) {
    if (attempt.isAbandoned) throw error;
    return lose(attempt, undefined, error);
  }
  if (!attempt.isAbandoned) await settleAt(price, attempt, usage, isWaste);
}

function settleAt(price: Price, attempt: Attempt, usage: Usage, isWaste: boolean): MaybePromise<void> {
  let cost: number | null;
  try {
    cost = usdOf(price);
  } catch {
    // A meter that was not compiled may give anything.
    return lose(attempt, undefined, wrongPrice(attempt.model, price));
  }
  // In the bill it would spoil every sum that it is part of.
  if (cost !== null && !(Number.isFinite(cost) && cost >= 0))
    return lose(attempt, undefined, wrongPrice(attempt.model, cost));
  return book(attempt, { usage, cost, isWaste, isEstimated: false });
}

function wrongPrice({ info }: LLMClient, usd: unknown): InvalidValueError {
  const expected = "dollars from 0 on, as { usd }, or { unpriced: true }, of the meter";
  return new InvalidValueError({
    field: `the price of ${info.provider}:${info.model}`,
    value: usd,
    expected,
  });
}

/** Charges, as waste, an attempt whose answer nobody gets, and throws why. */
export async function lose(attempt: Attempt, usage: Usage | undefined, error: unknown): Promise<never> {
  await settle(attempt, usage, true);
  throw error;
}

/**
 * An attempt that failed. If the provider refused it, or could not be reached, it costs nothing but the turn. If the connection
 * broke or was cut, the provider may have worked and charged, so all that was set aside counts as spent.
 */
export async function settleFailure(attempt: Attempt, error: unknown): Promise<never> {
  const { exec, estimate, bill } = attempt;
  const failure = classifyError(error);
  if (failure.kind === "RATE_LIMIT" && failure.retryAfterMs !== undefined)
    slowDown(exec, failure.retryAfterMs);
  const isRefused = isRefusal(error, failure, attempt.hasStreamed);
  if (estimate === undefined && !isRefused) {
    // Neither a ledger nor a limiter counts what may be lost.
    exec.openAttempts?.delete(attempt);
    bill.drop(attempt.number);
  } else if (isRefused || isProgramError(error)) await book(attempt, ONLY_THE_TURN);
  else await book(attempt, chargeAtMost(estimate, true));
  throw error;
}

/** A limiter that fails here, as where a provider named no time at all, must not keep the money from being settled. */
function slowDown({ ports }: Execution, retryAfterMs: number): void {
  void orLog(ports.logger, "warn", "the limiter was not slowed down", () =>
    ports.limiter?.slowDown(retryAfterMs),
  );
}

/** An attempt that nobody waits for any more. */
export function settleAbandoned(attempt: Attempt): MaybePromise<void> {
  // Without an estimate nothing was set aside, and nobody knows what it takes.
  if (attempt.estimate === undefined) return undefined;
  return book(attempt, chargeAtMost(attempt.estimate, true));
}

const UNPRICED: Price = Object.freeze({ unpriced: true });
const ONLY_THE_TURN: Charge = Object.freeze({
  usage: NO_USAGE,
  cost: 0,
  isWaste: true,
  isEstimated: false,
});

/** Every attempt that was sent comes here once, with its charge. */
function book(attempt: Attempt, charge: Charge): MaybePromise<void> {
  attempt.exec.openAttempts?.delete(attempt);
  attempt.bill.charge(attempt.number, charge);
  attempt.tokens = totalTokens(charge.usage);
  let written: MaybePromise<void>;
  try {
    written = write(attempt, charge);
  } catch (error) {
    return closeUnwritten(attempt, charge, error);
  }
  if (!isPromiseLike(written)) return closeReservation(attempt, charge);
  return Promise.resolve(written).then(
    () => closeReservation(attempt, charge),
    (error: unknown) => closeUnwritten(attempt, charge, error),
  );
}

function write(attempt: Attempt, charge: Charge): MaybePromise<void> {
  const { scope, isNested } = attempt;
  const { usage, cost: costUsd, isWaste } = charge;
  const counted = scope.spent({ usage, costUsd, isWaste, isNested });
  // An abandoned attempt stays open in the journal, where that reads as the same charge.
  if (attempt.isAbandoned) return counted;
  // In the same tick as the bill: both must agree on what was charged before the effect's end.
  const noted = noteCharge(attempt, charge);
  return isPromiseLike(counted) ? Promise.all([counted, noted]).then(() => undefined) : noted;
}

/** What could not be written down was paid all the same: the ledger may be somebody's who goes on with it. */
function closeUnwritten(attempt: Attempt, charge: Charge, error: unknown): MaybePromise<never> {
  return andThen(closeReservation(attempt, charge), () => {
    throw error;
  });
}

type Actual = Parameters<Reservation["settle"]>[0];
const ALL_OF_IT: Actual = Object.freeze({ estimated: true });

function closeReservation(attempt: Attempt, { cost, isEstimated }: Charge): MaybePromise<void> {
  const { exec, reservation, tokens } = attempt;
  if (reservation === undefined) return;
  let settlement: MaybePromise<Settlement>;
  try {
    settlement = reservation.settle(isEstimated ? ALL_OF_IT : { tokens, cost: cost ?? 0, turns: 1 });
  } catch (error) {
    return forfeit(exec, reservation, error);
  }
  if (!isPromiseLike(settlement)) return tellWarnings(exec, settlement);
  return Promise.resolve(settlement).then(
    (done) => tellWarnings(exec, done),
    (error: unknown) => forfeit(exec, reservation, error),
  );
}

/**
 * A ledger that finds the amount invalid gets all that was set aside instead, since a reservation that stays open is never given
 * back. If it failed for another reason, it may have counted the amount.
 */
async function forfeit(exec: Execution, reservation: Reservation, error: unknown): Promise<never> {
  if (isRaviError(error, "INVALID_VALUE")) {
    try {
      tellWarnings(exec, await reservation.settle(ALL_OF_IT));
    } catch {
      // It was closed all the same, or takes nothing at all; the first refusal says more.
    }
  }
  throw error;
}

const NONE: readonly never[] = Object.freeze([]);
const NOTHING_SAID: Partial<Settlement> = Object.freeze({});

/** A ledger that was not compiled may leave out what it has nothing to say of. */
function tellWarnings(exec: Execution, settlement: Partial<Settlement> = NOTHING_SAID): void {
  const { warnings = NONE, exceeded = NONE } = settlement;
  // Nearly always there is nothing.
  if (warnings.length + exceeded.length === 0) return;
  for (const warning of warningsIn({ warnings, exceeded })) {
    exec.emit({ type: "budgetWarning", ...warning });
    if (exec.hooks.has(HookEvent.BUDGET_WARNING)) {
      void exec.hooks.dispatch(HookEvent.BUDGET_WARNING, { ...exec.hookBase(false), ...warning });
    }
  }
}
