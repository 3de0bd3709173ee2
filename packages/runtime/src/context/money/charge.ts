import { type Estimate, type JsonObject, NO_USAGE, type Price, totalTokens, type Usage } from "@ravi/kernel";

/** What one attempt is charged. */
export interface Charge {
  readonly usage: Usage;
  /** Dollars; null where nobody knows the price. */
  readonly cost: number | null;
  /** The attempt gave no answer that anybody can use. */
  readonly isWaste: boolean;
  /** Nobody can tell what it took: all that was set aside for it is charged. */
  readonly isEstimated: boolean;
}

/** The most that a call of that estimate can have taken; without an estimate, nothing is known of it. */
export function chargeAtMost(estimate: Estimate | undefined, isWaste: boolean): Charge {
  if (estimate === undefined) return { usage: NO_USAGE, cost: null, isWaste, isEstimated: true };
  const { inputTokens, maxOutputTokens, price } = estimate;
  const usage = { inputTokens, outputTokens: maxOutputTokens };
  return { usage, cost: usdOf(price), isWaste, isEstimated: true };
}

/** Null where nobody knows it. */
export function usdOf(price: Price): number | null {
  return "unpriced" in price ? null : price.usd;
}

/** A charge as the journal has it. */
export function spendRecord({ usage, cost, isWaste }: Charge): JsonObject {
  return {
    tokens: totalTokens(usage),
    cost: cost ?? 0,
    turns: 1,
    usage: { ...usage },
    priced: cost !== null,
    ...(isWaste && { waste: cost ?? 0 }),
  };
}
