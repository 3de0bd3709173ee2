import {
  type AbortSignalLike,
  classifyError,
  type EffectScope,
  type Estimate,
  HookEvent,
  InvalidValueError,
  isPromiseLike,
  isRaviError,
  type LLMClient,
  type MaybePromise,
  type ModelEvent,
  type ModelRequest,
  type ModelResponse,
  NO_USAGE,
  type Price,
  type Reservation,
  type Settlement,
  type Spend,
  totalTokens,
  type Usage,
} from "@ravi/kernel";
import { answerProblem, LinkedList, readStream, soundUsage } from "@ravi/kernel/loop";
import { rejected } from "../rejected.ts";
import { andThen } from "./and-then.ts";
import type { Bill, Paid } from "./bill.ts";
import type { Execution } from "./execution.ts";
import { isOnRecord, noteAfter, noteBefore } from "./noted.ts";
import { refuseStopped, reservedInTime } from "./reserved.ts";
import { roughEstimate } from "./rough-estimate.ts";
import { SentCall } from "./sent-calls.ts";

export interface AttemptOptions {
  readonly model: LLMClient;
  readonly request: ModelRequest;
  /** A layer's or a tool's own; without it, the execution's. */
  readonly signal: AbortSignalLike | undefined;
  readonly idempotencyKey: string;
  readonly wrapUp: boolean;
  readonly bill: Bill;
  /** The effect that it is an attempt at, or that it is made inside of. */
  readonly scope: EffectScope;
  /** Made inside of an effect by a judge or by a tool. */
  readonly isNested: boolean;
  /** Gets what is streamed; without it the answer comes in one piece. */
  readonly sink: ((event: Exclude<ModelEvent, { type: "finish" }>) => void) | undefined;
  /** Where it is known already. */
  readonly estimate?: Estimate | undefined;
  /** What the begin of the effect has set aside, where this is the try that it speaks of. */
  readonly begun?: Estimate | undefined;
  /** Its number among the calls of its effect, from the moment on when it is to be sent; 0 is the first of its own. */
  call: number;
}

/** One try at a model call: a place in the limiter's line, money set aside, the call, and the money settled. */
export function attempt(exec: Execution, options: AttemptOptions): Promise<ModelResponse> {
  try {
    return begin(exec, options);
  } catch (error) {
    return rejected(error);
  }
}

// None of these is asynchronous but `inLine`, for those who need it, and what is for failures: a frame for all of them is 1.5 kB a
// call.

function begin(exec: Execution, options: AttemptOptions): Promise<ModelResponse> {
  const { model, request, signal } = options;
  const { limiter } = exec.ports;
  // Whoever goes on after the end (a tool that was left behind, say) pays for nothing more.
  refuseStopped(exec, signal);
  if (options.scope.ledger === undefined && limiter === undefined)
    return sendNoted(exec, options, undefined, undefined);
  const estimated = options.estimate ?? estimateOf(exec, model, request);
  return limiter !== undefined || isPromiseLike(estimated)
    ? inLine(exec, options, estimated)
    : reserve(exec, options, estimated);
}

async function inLine(
  exec: Execution,
  options: AttemptOptions,
  estimated: MaybePromise<Estimate>,
): Promise<ModelResponse> {
  const { bill, signal = exec.signal } = options;
  const before = bill.tokens;
  const estimate = await estimated;
  const tokens = estimate.inputTokens + estimate.maxOutputTokens;
  const { priority } = exec.supervision;
  const permit = await exec.ports.limiter?.acquire({ priority, tokens, signal });
  try {
    // The line may have been long.
    refuseStopped(exec, options.signal);
    return await reserve(exec, options, estimate);
  } finally {
    permit?.release({ tokens: bill.tokens - before });
  }
}

function reserve(exec: Execution, options: AttemptOptions, estimate: Estimate): Promise<ModelResponse> {
  const { provider, model } = options.model.info;
  const { wrapUp, scope } = options;
  const reserved = scope.ledger?.reserve(wanted(estimate), { wrapUp, what: `${provider}:${model}` });
  return isPromiseLike(reserved)
    ? reservedInTime(exec, reserved, () => refuseStopped(exec, options.signal)).then((reservation) =>
        sendNoted(exec, options, estimate, reservation),
      )
    : sendNoted(exec, options, estimate, reserved);
}

/** Nothing is sent before what it may cost is on record. */
function sendNoted(
  exec: Execution,
  options: AttemptOptions,
  estimate: Estimate | undefined,
  reservation: Reservation | undefined,
): Promise<ModelResponse> {
  options.call = options.bill.take(options.isNested);
  return isOnRecord(exec, options, estimate, reservation)
    ? sendReserved(exec, options, estimate, reservation)
    : noteBefore(exec, options, estimate, reservation).then(() =>
        sendReserved(exec, options, estimate, reservation),
      );
}

function sendReserved(
  exec: Execution,
  options: AttemptOptions,
  estimate: Estimate | undefined,
  reservation: Reservation | undefined,
): Promise<ModelResponse> {
  const bound = reservation === undefined ? undefined : estimate?.maxOutputTokens;
  const call = new SentCall(options, estimate, reservation);
  (exec.sentCalls ??= new LinkedList()).add(call);
  return send(exec, options, bound).then(
    (response) => {
      if (call.isLeft) return response;
      exec.sentCalls?.delete(call);
      const problem = answerProblem(options.model, response);
      const usage = soundUsage(response?.usage);
      if (problem !== undefined) return lose(exec, options, reservation, estimate, usage, problem);
      const settled = settle(exec, options, reservation, estimate, usage, false);
      return isPromiseLike(settled) ? settled.then(() => response) : response;
    },
    (error: unknown) => {
      if (call.isLeft) throw error;
      exec.sentCalls?.delete(call);
      return settleFailure(exec, options, reservation, estimate, error);
    },
  );
}

/** Of a call that nobody waits for any more. Its note stays open, so that a record that is read again charges the same. */
export function settleLeft(
  exec: Execution,
  { options, estimate, reservation }: SentCall,
): MaybePromise<void> {
  // Without a ledger nothing was set aside, and nobody knows what it takes.
  if (estimate === undefined) return undefined;
  const { bill, scope, isNested, call } = options;
  const { price, inputTokens, maxOutputTokens } = estimate;
  const cost = "unpriced" in price ? null : price.usd;
  const usage = { inputTokens, outputTokens: maxOutputTokens };
  bill.estimated = true;
  bill.settle(call, { usage, cost, isWaste: true });
  return andThen(scope.spent({ usage, costUsd: cost, isWaste: true, isNested }), () =>
    close(exec, reservation, ALL_OF_IT),
  );
}

export function estimateOf(exec: Execution, model: LLMClient, request: ModelRequest): MaybePromise<Estimate> {
  const { meter } = exec.ports;
  return meter === undefined ? roughEstimate(model.info, request) : meter.estimate(model.info, request);
}

/** A model that was not compiled may throw at once, or give something that only looks like a promise. */
function send(
  exec: Execution,
  { model, request, signal, idempotencyKey, sink, bill, isNested }: AttemptOptions,
  bound: number | undefined,
): Promise<ModelResponse> {
  try {
    // Plain fields: a model that wraps another may well spread them.
    const call = { signal: signal ?? exec.signal, idempotencyKey };
    const sent = bound === undefined ? request : exec.requests.bounded(request, bound);
    bill.sent++;
    if (!isNested) bill.attempts++;
    if (sink === undefined || model.stream === undefined) return Promise.resolve(model.generate(sent, call));
    return readStream(model.stream(sent, call), sink);
  } catch (error) {
    return rejected(error);
  }
}

/** What is set aside for one attempt. Without a known price it says no cost, and the ledger decides. */
function wanted({ inputTokens, maxOutputTokens, price }: Estimate): Partial<Spend> {
  const tokens = inputTokens + maxOutputTokens;
  return "unpriced" in price ? { tokens, turns: 1 } : { tokens, cost: price.usd, turns: 1 };
}

function settle(
  exec: Execution,
  options: AttemptOptions,
  reservation: Reservation | undefined,
  estimate: Estimate | undefined,
  usage: Usage | undefined,
  isWaste: boolean,
): MaybePromise<void> {
  const { meter } = exec.ports;
  if (usage === undefined) return settleWhole(exec, options, reservation, estimate, isWaste);
  let price: MaybePromise<Price>;
  try {
    price = meter === undefined ? UNPRICED : meter.price(options.model.info, usage, estimate);
  } catch (error) {
    return lose(exec, options, reservation, estimate, undefined, error);
  }
  if (!isPromiseLike(price)) return pay(exec, options, reservation, estimate, usage, price, isWaste);
  return Promise.resolve(price).then(
    (known) => pay(exec, options, reservation, estimate, usage, known, isWaste),
    (error: unknown) => lose(exec, options, reservation, estimate, undefined, error),
  );
}

/** Paid for, and not delivered. Where nobody can say what it took, nothing that was set aside comes back. */
async function lose(
  exec: Execution,
  options: AttemptOptions,
  reservation: Reservation | undefined,
  estimate: Estimate | undefined,
  usage: Usage | undefined,
  error: unknown,
): Promise<never> {
  await settle(exec, options, reservation, estimate, usage, true);
  throw error;
}

function pay(
  exec: Execution,
  options: AttemptOptions,
  reservation: Reservation | undefined,
  estimate: Estimate | undefined,
  usage: Usage,
  price: Price,
  isWaste: boolean,
): MaybePromise<void> {
  const cost = "unpriced" in price ? null : price.usd;
  if (cost !== null && !(Number.isFinite(cost) && cost >= 0)) {
    return lose(exec, options, reservation, estimate, undefined, wrongPrice(options.model, cost));
  }
  const actual = { tokens: totalTokens(usage), cost: cost ?? 0, turns: 1 };
  return book(exec, options, { usage, cost, isWaste }, reservation, actual);
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

const UNPRICED: Price = Object.freeze({ unpriced: true });
const ALL_OF_IT = Object.freeze({ estimated: true });
const ONLY_THE_TURN = Object.freeze({ tokens: 0, cost: 0, turns: 1 });

/** The provider did not say what it used, so all that was set aside counts as spent. */
function settleWhole(
  exec: Execution,
  options: AttemptOptions,
  reservation: Reservation | undefined,
  estimate: Estimate | undefined,
  isWaste: boolean,
): MaybePromise<void> {
  options.bill.estimated = true;
  const price = estimate?.price;
  const cost = price === undefined || "unpriced" in price ? null : price.usd;
  const usage: Usage =
    estimate === undefined
      ? NO_USAGE
      : { inputTokens: estimate.inputTokens, outputTokens: estimate.maxOutputTokens };
  return book(exec, options, { usage, cost, isWaste }, reservation, ALL_OF_IT);
}

/**
 * A call that failed. An answer with an error status costs nothing but the turn; where the connection broke or was cut, the
 * provider may have worked and charged, so what was set aside counts as spent.
 */
async function settleFailure(
  exec: Execution,
  options: AttemptOptions,
  reservation: Reservation | undefined,
  estimate: Estimate | undefined,
  error: unknown,
): Promise<never> {
  if (estimate === undefined) {
    // Nobody counts what may be lost: there is neither a limit nor a line.
    options.bill.drop(options.call);
    throw error;
  }
  const { status, retryAfterMs, kind } = classifyError(error);
  if (kind === "RATE_LIMIT" && retryAfterMs !== undefined) exec.ports.limiter?.slowDown(retryAfterMs);
  const refused = status !== undefined && status >= 400;
  if (!refused && !isProgramError(error)) await settleWhole(exec, options, reservation, estimate, true);
  else await book(exec, options, { usage: NO_USAGE, cost: 0, isWaste: true }, reservation, ONLY_THE_TURN);
  throw error;
}

type Actual = Parameters<Reservation["settle"]>[0];

/** Writes an attempt into the bill and the books, then settles what was set aside for it. */
function book(
  exec: Execution,
  options: AttemptOptions,
  paid: Paid,
  reservation: Reservation | undefined,
  actual: Actual,
): MaybePromise<void> {
  options.bill.settle(options.call, paid);
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

function report(exec: Execution, { warnings }: Settlement): void {
  for (const warning of warnings) {
    exec.emit({ type: "budgetWarning", ...warning });
    if (exec.hooks.has(HookEvent.BUDGET_WARNING)) {
      void exec.hooks.dispatch(HookEvent.BUDGET_WARNING, { ...exec.hookBase(false), ...warning });
    }
  }
}
