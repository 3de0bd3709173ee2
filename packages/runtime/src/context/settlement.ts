import {
  classifyError,
  type ErrorKind,
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
import { LinkedList, warningsIn } from "@ravi/kernel/loop";
import { andThen } from "../and-then.ts";
import { orLog } from "../or-log.ts";
import type { AttemptOptions } from "./attempt.ts";
import { type Paid, paidAtMost, usdOf } from "./bill.ts";
import type { Execution } from "./execution.ts";
import { noteAfter } from "./noted.ts";
import type { SentCall } from "./sent-calls.ts";
import { isUnsent } from "./unsent.ts";

// The money of one attempt, when it is over: priced, in the bill and the books, and what was set aside for it settled.

/** What a call took, by what its provider says; the price of it is the meter's. */
export function settle(
  exec: Execution,
  call: SentCall,
  usage: Usage | undefined,
  isWaste: boolean,
): MaybePromise<void> {
  const { meter } = exec.ports;
  const { options, estimate } = call;
  if (usage === undefined) return settleWhole(exec, call, isWaste);
  let price: MaybePromise<Price>;
  try {
    price = meter === undefined ? UNPRICED : meter.price(options.model.info, usage, estimate);
  } catch (error) {
    return lose(exec, call, undefined, error);
  }
  if (!isPromiseLike(price)) return pay(exec, call, usage, price, isWaste);
  return pricedLate(exec, call, usage, price, isWaste);
}

/** A meter may never answer: until it does, the call is one that its agent may have to leave behind. */
async function pricedLate(
  exec: Execution,
  call: SentCall,
  usage: Usage,
  price: PromiseLike<Price>,
  isWaste: boolean,
): Promise<void> {
  const calls = (exec.sentCalls ??= new LinkedList());
  calls.add(call);
  let known: Price;
  try {
    known = await price;
  } catch (error) {
    if (call.isLeft) throw error;
    calls.delete(call);
    return lose(exec, call, undefined, error);
  }
  if (call.isLeft) return undefined;
  calls.delete(call);
  return pay(exec, call, usage, known, isWaste);
}

/** Paid for, and not delivered. Where nobody can say what it took, nothing that was set aside comes back. */
export async function lose(
  exec: Execution,
  call: SentCall,
  usage: Usage | undefined,
  error: unknown,
): Promise<never> {
  await settle(exec, call, usage, true);
  throw error;
}

function pay(
  exec: Execution,
  call: SentCall,
  usage: Usage,
  price: Price,
  isWaste: boolean,
): MaybePromise<void> {
  const cost = usdOf(price);
  if (cost !== null && !(Number.isFinite(cost) && cost >= 0)) {
    return lose(exec, call, undefined, wrongPrice(call.options.model, cost));
  }
  const actual = { tokens: totalTokens(usage), cost: cost ?? 0, turns: 1 };
  return book(exec, call, { usage, cost, isWaste }, actual);
}

/** In the bill it would make every sum it is in one that nobody can write down. */
function wrongPrice({ info }: LLMClient, usd: unknown): InvalidValueError {
  const expected = "dollars from 0 on, or { unpriced: true }, of the meter";
  return new InvalidValueError({
    field: `the price of ${info.provider}:${info.model}`,
    value: usd,
    expected,
  });
}

const NONE: readonly never[] = Object.freeze([]);
const NOTHING_SAID: Partial<Settlement> = Object.freeze({});
const UNPRICED: Price = Object.freeze({ unpriced: true });
const ALL_OF_IT = Object.freeze({ estimated: true });
const ONLY_THE_TURN = Object.freeze({ tokens: 0, cost: 0, turns: 1 });

/** The provider did not say what it used, so all that was set aside counts as spent. */
function settleWhole(exec: Execution, call: SentCall, isWaste: boolean): MaybePromise<void> {
  call.options.bill.estimated = true;
  return book(exec, call, paidAtMost(call.estimate, isWaste), ALL_OF_IT);
}

/** What a provider says before it works. */
const UNPAID: ReadonlySet<ErrorKind> = new Set([
  "RATE_LIMIT",
  "AUTH",
  "AUTH_PERMANENT",
  "BILLING",
  "MODEL_NOT_FOUND",
  "CONTEXT_OVERFLOW",
]);

/** Not every client tells the status. In the middle of an answer the same kinds come after work that may be charged. */
function isRefusal(
  error: unknown,
  status: number | undefined,
  kind: ErrorKind,
  { hasStreamed }: AttemptOptions,
): boolean {
  if (status !== undefined) return status >= 400;
  return hasStreamed !== true && (UNPAID.has(kind) || isUnsent(error));
}

/**
 * A call that failed. An answer with an error status costs nothing but the turn, and so does a provider that could not be reached;
 * where the connection broke or was cut, it may have worked and charged, so what was set aside counts as spent.
 */
export async function settleFailure(exec: Execution, call: SentCall, error: unknown): Promise<never> {
  const { options, estimate } = call;
  const { status, retryAfterMs, kind } = classifyError(error);
  if (kind === "RATE_LIMIT" && retryAfterMs !== undefined) slowDown(exec, retryAfterMs);
  const refused = isRefusal(error, status, kind, options);
  if (estimate === undefined && !refused) {
    // Nobody counts what may be lost: there is neither a limit nor a line.
    options.bill.drop(options.call);
    throw error;
  }
  if (!refused && !isProgramError(error)) await settleWhole(exec, call, true);
  else await book(exec, call, { usage: NO_USAGE, cost: 0, isWaste: true }, ONLY_THE_TURN);
  throw error;
}

/** A limiter that cannot take it, as where a provider named no time at all, must not keep the money from being settled. */
function slowDown({ ports }: Execution, retryAfterMs: number): void {
  void orLog(ports.logger, "warn", "the limiter was not slowed down", () =>
    ports.limiter?.slowDown(retryAfterMs),
  );
}

type Actual = Parameters<Reservation["settle"]>[0];

/** Writes an attempt into the bill and the books, then settles what was set aside for it. */
function book(
  exec: Execution,
  { options, reservation }: SentCall,
  paid: Paid,
  actual: Actual,
): MaybePromise<void> {
  options.tokens = options.bill.settle(options.call, paid);
  let booked: MaybePromise<void>;
  try {
    booked = write(exec, options, paid);
  } catch (error) {
    return closeUnbooked(exec, reservation, actual, error);
  }
  if (!isPromiseLike(booked)) return close(exec, reservation, actual);
  return Promise.resolve(booked).then(
    () => close(exec, reservation, actual),
    (error: unknown) => closeUnbooked(exec, reservation, actual, error),
  );
}

function write(exec: Execution, options: AttemptOptions, paid: Paid): MaybePromise<void> {
  const { usage, cost: costUsd, isWaste } = paid;
  const counted = options.scope.spent({ usage, costUsd, isWaste, isNested: options.isNested });
  // The note is made in the same tick as the bill: they must not tell apart what was paid before an end and after it.
  const noted = noteAfter(exec, options, paid);
  return isPromiseLike(counted) ? Promise.all([counted, noted]).then(() => undefined) : noted;
}

/** What was paid is settled, also where it could not be written down: the ledger may be somebody's who goes on with it. */
function closeUnbooked(
  exec: Execution,
  reservation: Reservation | undefined,
  actual: Actual,
  error: unknown,
): MaybePromise<never> {
  return andThen(close(exec, reservation, actual), () => {
    throw error;
  });
}

function close(exec: Execution, reservation: Reservation | undefined, actual: Actual): MaybePromise<void> {
  if (reservation === undefined) return;
  let settlement: MaybePromise<Settlement>;
  try {
    settlement = reservation.settle(actual);
  } catch (error) {
    return forfeit(exec, reservation, error);
  }
  if (!isPromiseLike(settlement)) return report(exec, settlement);
  return Promise.resolve(settlement).then(
    (done) => report(exec, done),
    (error: unknown) => forfeit(exec, reservation, error),
  );
}

/**
 * A ledger that refuses to count what a call took is left with all that was set aside for it, as where nobody says what it
 * took: one that stays open is never given back. What failed for another reason may have been counted.
 */
async function forfeit(exec: Execution, reservation: Reservation, error: unknown): Promise<never> {
  if (isRaviError(error, "INVALID_VALUE")) {
    try {
      report(exec, await reservation.settle(ALL_OF_IT));
    } catch {
      // It was closed all the same, or takes nothing at all; the first refusal says more.
    }
  }
  throw error;
}

/** Nothing was sent: a mistake in the program, or a refusal of our own. Not so `fetch failed`, a TypeError with a cause. */
function isProgramError(error: unknown): boolean {
  return (
    (error instanceof TypeError && error.cause === undefined) ||
    isRaviError(error, "INVALID_VALUE") ||
    isRaviError(error, "BUDGET_EXHAUSTED")
  );
}

/** A ledger that was not compiled may leave out what it has nothing to say of. */
function report(exec: Execution, settlement: Partial<Settlement> = NOTHING_SAID): void {
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

/** Of a call that nobody waits for any more. Its note stays open, so that a record that is read again charges the same. */
export function settleLeft(
  exec: Execution,
  { options, estimate, reservation }: SentCall,
): MaybePromise<void> {
  // Without a ledger nothing was set aside, and nobody knows what it takes.
  if (estimate === undefined) return undefined;
  const { bill, scope, isNested, call } = options;
  const paid = paidAtMost(estimate, true);
  bill.estimated = true;
  options.tokens = bill.settle(call, paid);
  return andThen(scope.spent({ usage: paid.usage, costUsd: paid.cost, isWaste: true, isNested }), () =>
    close(exec, reservation, ALL_OF_IT),
  );
}
