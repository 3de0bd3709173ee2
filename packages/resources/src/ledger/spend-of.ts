import { type Estimate, totalTokens, type Price, type Spend, type Usage } from "@ravi/kernel";

/**
 * What to reserve for one attempt at a model call. If the price is unknown the cost is left out, and `reserve` then refuses the call if any
 * ledger of the chain has a limit in dollars. So callers cannot forget that rule.
 */
export function spendOf(estimate: Estimate): Partial<Spend> {
  return {
    tokens: estimate.inputTokens + estimate.maxOutputTokens,
    turns: 1,
    ...costOf(estimate.price),
  };
}

/** What to settle with: the tokens used and their price. Without usage, the reservation is charged as estimated. */
export function actualOf(
  usage: Usage | null | undefined,
  price: Price | undefined,
): Partial<Spend> & { readonly estimated?: boolean } {
  if (usage === undefined || usage === null) return { estimated: true };
  return { tokens: totalTokens(usage), ...(price === undefined ? {} : costOf(price)) };
}

function costOf(price: Price): { readonly cost?: number } {
  return "usd" in price ? { cost: price.usd } : {};
}
