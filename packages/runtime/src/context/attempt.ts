import {
  type AbortSignalLike,
  cancellationOf,
  classifyError,
  type EffectScope,
  type Estimate,
  HookEvent,
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
import { readStream } from "@ravi/kernel/loop";
import type { Bill } from "./bill.ts";
import type { Execution } from "./execution.ts";
import { roughEstimate } from "./rough-estimate.ts";
import { soundUsage } from "./sound-usage.ts";

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
}

/** One try at a model call: a place in the limiter's line, money set aside, the call, and the money settled. */
export async function attempt(exec: Execution, options: AttemptOptions): Promise<ModelResponse> {
  const { model, request, signal, bill, scope } = options;
  const { limiter } = exec.ports;
  // Whoever goes on after the end (a tool that was left behind, say) pays for nothing more.
  const { stopped } = exec;
  if (stopped !== undefined) throw stopped;
  if (signal?.aborted === true) throw cancellationOf(signal);
  if (!options.isNested) bill.attempts++;
  const before = bill.tokens;
  const { ledger } = scope;
  if (ledger === undefined && limiter === undefined) {
    const response = await send(exec, options, request);
    const settled = settle(exec, options, undefined, undefined, soundUsage(response.usage));
    if (isPromiseLike(settled)) await settled;
    return response;
  }
  const estimated = options.estimate ?? estimateOf(exec, model, request);
  const estimate = isPromiseLike(estimated) ? await estimated : estimated;
  const tokens = estimate.inputTokens + estimate.maxOutputTokens;
  const asked = limiter?.acquire({
    priority: exec.supervision.priority,
    tokens,
    signal: signal ?? exec.signal,
  });
  const permit = isPromiseLike(asked) ? await asked : asked;
  try {
    const what = `${model.info.provider}:${model.info.model}`;
    const reserved = ledger?.reserve(wanted(estimate), { wrapUp: options.wrapUp, what });
    const reservation = isPromiseLike(reserved) ? await reserved : reserved;
    let response: ModelResponse;
    try {
      response = await send(exec, options, reservation === undefined ? request : bounded(request, estimate));
    } catch (error) {
      await settleFailure(exec, options, reservation, estimate, error);
      throw error;
    }
    const settled = settle(exec, options, reservation, estimate, soundUsage(response.usage));
    if (isPromiseLike(settled)) await settled;
    return response;
  } finally {
    permit?.release({ tokens: bill.tokens - before });
  }
}

export function estimateOf(exec: Execution, model: LLMClient, request: ModelRequest): MaybePromise<Estimate> {
  const { meter } = exec.ports;
  return meter === undefined ? roughEstimate(model.info, request) : meter.estimate(model.info, request);
}

/**
 * What was set aside for the answer is what the provider may write: otherwise the limit would not bind it. A loop makes its
 * request once; with its bound it is made once too.
 */
const boundedRequests = new WeakMap<ModelRequest, ModelRequest>();

function bounded(request: ModelRequest, { maxOutputTokens }: Estimate): ModelRequest {
  if (request.maxOutputTokens !== undefined) return request;
  const known = boundedRequests.get(request);
  if (known?.maxOutputTokens === maxOutputTokens) return known;
  const made = Object.freeze({ ...request, maxOutputTokens });
  // What may still change is copied anew each time.
  if (Object.isFrozen(request)) boundedRequests.set(request, made);
  return made;
}

function send(
  exec: Execution,
  { model, signal, idempotencyKey, sink }: AttemptOptions,
  request: ModelRequest,
): Promise<ModelResponse> {
  // Plain fields: a model that wraps another may well spread them.
  const call = { signal: signal ?? exec.signal, idempotencyKey };
  if (sink === undefined || model.stream === undefined) return model.generate(request, call);
  return readStream(model.stream(request, call), sink);
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
): MaybePromise<void> {
  const { meter } = exec.ports;
  if (usage === undefined) return settleWhole(exec, options, reservation, estimate, false);
  const pay = (price: Price): MaybePromise<void> => {
    const cost = "unpriced" in price ? null : price.usd;
    const settlement = { tokens: totalTokens(usage), cost: cost ?? 0, turns: 1 };
    return book(exec, options, { usage, cost, isWaste: false }, () => reservation?.settle(settlement));
  };
  const price = meter === undefined ? UNPRICED : meter.price(options.model.info, usage, estimate);
  return isPromiseLike(price) ? price.then(pay) : pay(price);
}

const UNPRICED: Price = Object.freeze({ unpriced: true });

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
  return book(exec, options, { usage, cost, isWaste }, () => reservation?.settle({ estimated: true }));
}

/**
 * A call that failed. An answer with an error status costs nothing but the turn; where the connection broke or was cut, the
 * provider may have worked and charged, so what was set aside counts as spent.
 */
async function settleFailure(
  exec: Execution,
  options: AttemptOptions,
  reservation: Reservation | undefined,
  estimate: Estimate,
  error: unknown,
): Promise<void> {
  const { status, retryAfterMs, kind } = classifyError(error);
  if (kind === "RATE_LIMIT" && retryAfterMs !== undefined) exec.ports.limiter?.slowDown(retryAfterMs);
  const refused = status !== undefined && status >= 400;
  if (!refused && !isProgramError(error)) return settleWhole(exec, options, reservation, estimate, true);
  return book(exec, options, { usage: NO_USAGE, cost: 0, isWaste: true }, () =>
    reservation?.settle({ tokens: 0, cost: 0, turns: 1 }),
  );
}

interface Paid {
  readonly usage: Usage;
  readonly cost: number | null;
  readonly isWaste: boolean;
}

/** Writes an attempt into the bill and the books, then settles what was set aside for it. */
function book(
  exec: Execution,
  { bill, scope, isNested }: AttemptOptions,
  { usage, cost, isWaste }: Paid,
  settleReservation: () => MaybePromise<Settlement> | undefined,
): MaybePromise<void> {
  bill.add(usage, cost, isWaste);
  const close = (): MaybePromise<void> => {
    const settlement = settleReservation();
    if (settlement === undefined) return;
    if (isPromiseLike(settlement)) return settlement.then((done) => report(exec, done));
    report(exec, settlement);
  };
  const booked = scope.spent({ usage, costUsd: cost, isWaste, isNested });
  return isPromiseLike(booked) ? booked.then(close) : close();
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
