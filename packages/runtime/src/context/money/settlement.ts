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
  ToolError,
  totalTokens,
  type Usage,
} from "@ravi/kernel";
import { messageOf, warningsIn } from "@ravi/kernel/loop";
import { andThen } from "../../promises/and-then.ts";
import { tryOrLog } from "../../promises/try-or-log.ts";
import type { Execution } from "../execution.ts";
import type { Attempt } from "./attempt.ts";
import { type Charge, chargeAtMost, usdOf } from "./charge.ts";
import { isProgramError, isRefusal } from "./failure-cost.ts";
import { noteCharge } from "./notes.ts";

// How an attempt is charged. However it ended, the result is one charge, and `book` does the rest: it adds the charge to the bill, the
// accounts and the journal, and then settles the reservation with the ledger.

/**
 * Charges an attempt that was answered: the usage that the provider reports, at the meter's price. If it reports none, all that was set
 * aside is charged.
 */
export function settle(attempt: Attempt, usage: Usage | undefined, isWaste: boolean): MaybePromise<void> {
  if (usage === undefined) return book(attempt, chargeAtMost(attempt.estimate, isWaste));
  const { meter } = attempt.exec.ports;
  let price: MaybePromise<Price>;
  try {
    price = meter === undefined ? UNPRICED : meter.price(attempt.model.info, usage, attempt.estimate);
  } catch (error) {
    return chargeAsWaste(attempt, undefined, asFinal(attempt, "meter", error));
  }
  return isPromiseLike(price)
    ? settleWhenPriced(attempt, usage, price, isWaste)
    : settleAt(price, attempt, usage, isWaste);
}

/** A meter may never answer. Until it does the attempt stays open, and may be abandoned. */
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
    return chargeAsWaste(attempt, undefined, asFinal(attempt, "meter", error));
  }
  if (!attempt.isAbandoned) await settleAt(price, attempt, usage, isWaste);
}

function settleAt(price: Price, attempt: Attempt, usage: Usage, isWaste: boolean): MaybePromise<void> {
  let cost: number | null;
  try {
    cost = usdOf(price);
  } catch {
    // A meter in plain JavaScript may return anything.
    return chargeAsWaste(attempt, undefined, wrongPrice(attempt.model, price));
  }
  // In the bill, NaN or a negative price would spoil every sum that it is part of.
  if (cost !== null && !(Number.isFinite(cost) && cost >= 0))
    return chargeAsWaste(attempt, undefined, wrongPrice(attempt.model, cost));
  return book(attempt, { usage, cost, isWaste, isEstimated: false });
}

function wrongPrice({ info }: LLMClient, usd: unknown): InvalidValueError {
  const expected = "the meter to return { usd } with a number of 0 or more, or { unpriced: true }";
  return new InvalidValueError({
    field: `the price of ${info.provider}:${info.model}`,
    value: usd,
    expected,
  });
}

/** Charges an attempt as waste, because nobody gets its answer, and throws `error`. */
export async function chargeAsWaste(
  attempt: Attempt,
  usage: Usage | undefined,
  error: unknown,
): Promise<never> {
  await settle(attempt, usage, true);
  throw error;
}

/**
 * Charges an attempt that failed, and throws `error`. If the provider refused it, or could not be reached, only the turn is charged. If the
 * connection broke or was cut, the provider may have worked and charged, so all that was set aside counts as spent.
 */
export async function settleFailure(attempt: Attempt, error: unknown): Promise<never> {
  const { exec, estimate, bill } = attempt;
  const failure = classifyError(error);
  if (failure.kind === "RATE_LIMIT" && failure.retryAfterMs !== undefined)
    slowDown(exec, failure.retryAfterMs);
  const isRefused = isRefusal(error, failure, attempt.hasStreamed);
  if (estimate === undefined && !isRefused) {
    // Without a ledger and a limiter there is no estimate that could be charged.
    exec.openAttempts?.delete(attempt);
    bill.drop(attempt.number);
  } else if (isRefused || isProgramError(error)) await book(attempt, ONLY_THE_TURN);
  else await book(attempt, chargeAtMost(estimate, true));
  throw error;
}

/** A failure of the limiter, such as its refusal of a time that is not a number, is only logged: the money must be settled in any case. */
function slowDown(exec: Execution, retryAfterMs: number): void {
  void tryOrLog(
    exec,
    "warn",
    "limiter.slowDown() failed; the wait that the provider asked for is not applied",
    () => exec.ports.limiter?.slowDown(retryAfterMs),
  );
}

/** Charges all that was set aside for an attempt that nobody waits for any more. */
export function settleAbandoned(attempt: Attempt): MaybePromise<void> {
  // Without an estimate nothing was set aside, and it is not known what the call takes.
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

/** Adds a charge to the bill, the accounts and the journal, then settles the reservation. Called at most once for an attempt. */
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
  // An abandoned attempt stays open in the journal, where an open attempt is read as the same charge.
  if (attempt.isAbandoned) return counted;
  // In the same tick as the bill is charged: both must agree on what was charged before the effect's end.
  const noted = noteCharge(attempt, charge);
  return isPromiseLike(counted) ? Promise.all([counted, noted]).then(() => undefined) : noted;
}

/**
 * Settles the reservation of a charge that could not be recorded, and throws `error`. It was paid nevertheless, and the ledger may be
 * shared with runs that go on.
 */
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
    return settleInFull(attempt, reservation, error);
  }
  if (!isPromiseLike(settlement)) return reportWarnings(settlement, exec);
  return Promise.resolve(settlement).then(
    (done) => reportWarnings(done, exec),
    (error: unknown) => settleInFull(attempt, reservation, error),
  );
}

/**
 * If the ledger finds the amount invalid, all that was set aside is settled instead: a reservation that stays open would never be given
 * back. After any other failure it is not tried again, since the ledger may have counted the amount. Throws `error`.
 */
async function settleInFull(attempt: Attempt, reservation: Reservation, error: unknown): Promise<never> {
  if (isRaviError(error, "INVALID_VALUE")) {
    try {
      reportWarnings(await reservation.settle(ALL_OF_IT), attempt.exec);
    } catch {
      // The reservation is closed already, or the ledger accepts nothing at all. The first error says more.
    }
  }
  throw asFinal(attempt, "ledger", error);
}

/**
 * The error of a meter or a ledger, as one that no layer retries: the call was sent, so each further try would be paid for as well, and
 * end in the same way.
 */
function asFinal({ model: { info } }: Attempt, whose: "ledger" | "meter", error: unknown): unknown {
  if (isRaviError(error)) return error;
  const message = `the ${whose} failed after a call of ${info.provider}:${info.model} was sent: ${messageOf(error)}; the call may be paid for and is not repeated`;
  return new ToolError({ toolName: whose, message, cause: error });
}

const NONE: readonly never[] = Object.freeze([]);
const NOTHING_SAID: Partial<Settlement> = Object.freeze({});

/**
 * Reports the warnings of a settlement to observers and hooks. A ledger in plain JavaScript may return an incomplete settlement, or none.
 */
export function reportWarnings(settlement: Partial<Settlement> | undefined, exec: Execution): void {
  const { warnings = NONE, exceeded = NONE } = settlement ?? NOTHING_SAID;
  if (warnings.length + exceeded.length === 0) return;
  for (const warning of warningsIn({ warnings, exceeded })) {
    exec.emit({ type: "budgetWarning", ...warning });
    if (exec.hooks.has(HookEvent.BUDGET_WARNING)) {
      void exec.hooks.dispatch(HookEvent.BUDGET_WARNING, { ...exec.hookBase(false), ...warning });
    }
  }
}
