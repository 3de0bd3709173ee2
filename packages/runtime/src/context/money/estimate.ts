import type { Estimate, JsonObject, LLMClient, MaybePromise, ModelRequest, Spend } from "@ravi/kernel";
import type { Execution } from "../execution.ts";
import { usdOf } from "./charge.ts";
import { roughEstimate } from "./rough-estimate.ts";

/** What a call may take at most, by the meter or, if there is none, by a rough rule. */
export function estimateOf(exec: Execution, model: LLMClient, request: ModelRequest): MaybePromise<Estimate> {
  const { meter } = exec.ports;
  return meter === undefined ? roughEstimate(model.info, request) : meter.estimate(model.info, request);
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
