import {
  type Estimate,
  InvalidValueError,
  isPromiseLike,
  type JsonObject,
  type LLMClient,
  type MaybePromise,
  type Meter,
  type ModelRequest,
  type Price,
  type Remaining,
  type Spend,
} from "@ravi/kernel";
import { tryOrLog } from "../../promises/try-or-log.ts";
import type { Execution } from "../execution.ts";
import { usdOf } from "./charge.ts";
import { roughEstimate } from "./rough-estimate.ts";

/**
 * What a call may take at most, by the meter or, if there is none, by a rough rule. A meter's quick estimate is taken where it makes no
 * difference. A limiter gets the other one, since calls wait for what they announce.
 */
export function estimateOf(exec: Execution, model: LLMClient, request: ModelRequest): MaybePromise<Estimate> {
  const { meter } = exec.ports;
  if (meter === undefined) return roughEstimate(model.info, request);
  const quick = mayBeQuick(exec) ? meter.quickEstimate?.(model.info, request) : undefined;
  if (quick === undefined) return closeEstimate(meter, model, request);
  if (!isPromiseLike(quick)) return orCloser(exec, meter, model, request, quick);
  return Promise.resolve(quick).then((made) => orCloser(exec, meter, model, request, made));
}

function mayBeQuick({ ports: { meter, limiter }, engine }: Execution): boolean {
  return meter?.quickEstimate !== undefined && limiter === undefined && engine.reservable !== undefined;
}

/**
 * A lower estimate of a call for which a quick one was refused; undefined if there is none. A part of what is left may be held back for a last
 * turn, so it does not tell what fits.
 */
export async function closerEstimate(
  exec: Execution,
  model: LLMClient,
  request: ModelRequest,
  refused: Estimate,
): Promise<Estimate | undefined> {
  const { meter } = exec.ports;
  if (meter === undefined || !mayBeQuick(exec)) return undefined;
  const close = await closeEstimate(meter, model, request);
  return isWithin(refused, close) ? undefined : close;
}

function closeEstimate(meter: Meter, model: LLMClient, request: ModelRequest): MaybePromise<Estimate> {
  const estimate = meter.estimate(model.info, request);
  if (!isPromiseLike(estimate)) return checkEstimate(model, estimate);
  return Promise.resolve(estimate).then((made) => checkEstimate(model, made));
}

function orCloser(
  exec: Execution,
  meter: Meter,
  model: LLMClient,
  request: ModelRequest,
  quick: Estimate,
): MaybePromise<Estimate> {
  checkEstimate(model, quick);
  return isFarFromLimits(quick, leftFor(exec)) ? quick : closeEstimate(meter, model, request);
}

/** Undefined if the ledger cannot tell, as one in a database that is busy. No call fails because of that: what counts is whether it can reserve. */
function leftFor(exec: Execution): Remaining | undefined {
  let left: Remaining | undefined;
  void tryOrLog(exec, "warn", "the ledger failed to tell what is left", () => {
    left = exec.engine.reservable?.();
  });
  return left;
}

/** So many calls like the one that is estimated must fit into what is left. */
const FAR = 16;

/**
 * Whether it does not matter that more is set aside than necessary: nothing is refused for it. For an input that is longer than the answer may
 * be, which is always estimated too high, it would be a large part of what many calls at once set aside.
 */
function isFarFromLimits(
  { inputTokens, maxOutputTokens, price }: Estimate,
  left: Remaining | undefined,
): boolean {
  if (left === undefined || inputTokens > maxOutputTokens) return false;
  if (left.tokens !== null && left.tokens < FAR * (inputTokens + maxOutputTokens)) return false;
  return left.cost === null || "unpriced" in price || left.cost >= FAR * price.usd;
}

/** A meter in plain JavaScript may return anything. What is not a number could not be set aside, and would limit nothing. */
function checkEstimate({ info }: LLMClient, estimate: Estimate): Estimate {
  if (isAmount(estimate?.inputTokens) && isAmount(estimate.maxOutputTokens) && isPrice(estimate.price))
    return estimate;
  const expected = "{ inputTokens, maxOutputTokens, price } of the meter, with numbers from 0 on";
  throw new InvalidValueError({
    field: `the estimate of ${info.provider}:${info.model}`,
    value: estimate,
    expected,
  });
}

function isPrice(price: Price): boolean {
  return typeof price === "object" && price !== null && ("unpriced" in price || isAmount(price.usd));
}

function isAmount(value: number): boolean {
  return Number.isFinite(value) && value >= 0;
}

/** The amount to reserve in the ledger. If no price is known the cost is left out, and the ledger decides whether to allow the call. */
export function amountToReserve({ inputTokens, maxOutputTokens, price }: Estimate): Partial<Spend> {
  const tokens = inputTokens + maxOutputTokens;
  return "unpriced" in price ? { tokens, turns: 1 } : { tokens, cost: price.usd, turns: 1 };
}

/**
 * A reservation as it is written to the journal. If nothing more is written about the call, all of it stays charged, as waste: the call may
 * have been paid for, and nobody got an answer.
 */
export function reserveRecord({ inputTokens, maxOutputTokens, price }: Estimate): JsonObject {
  const usd = usdOf(price);
  // The same fields as `spendRecord` of a charge, without making that charge first: this is in every begin entry.
  return {
    tokens: inputTokens + maxOutputTokens,
    cost: usd ?? 0,
    turns: 1,
    usage: { inputTokens, outputTokens: maxOutputTokens },
    priced: usd !== null,
    waste: usd ?? 0,
  };
}

/** Whether a call with this estimate cannot take more than one with the other. */
export function isWithin(estimate: Estimate, other: Estimate): boolean {
  const tokens = estimate.inputTokens + estimate.maxOutputTokens;
  if (tokens > other.inputTokens + other.maxOutputTokens) return false;
  const [usd, otherUsd] = [usdOf(estimate.price), usdOf(other.price)];
  return usd === null || otherUsd === null ? usd === otherUsd : usd <= otherUsd;
}
