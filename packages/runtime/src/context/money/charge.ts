import { type Estimate, type JsonObject, NO_USAGE, type Price, totalTokens, type Usage } from "@ravi/kernel";

/** What one attempt is charged with. */
export interface Charge {
  readonly usage: Usage;
  /** Dollars; null if the price is not known. */
  readonly cost: number | null;
  /** Whether the attempt gave no answer that can be used. */
  readonly isWaste: boolean;
  /** Whether the real usage is not known. Then all that was set aside for the attempt is charged. */
  readonly isEstimated: boolean;
}

/** The most that a call with this estimate can have taken. Without an estimate: no usage, and an unknown price. */
export function chargeAtMost(estimate: Estimate | undefined, isWaste: boolean): Charge {
  if (estimate === undefined) return { usage: NO_USAGE, cost: null, isWaste, isEstimated: true };
  const { inputTokens, maxOutputTokens, price } = estimate;
  const usage = { inputTokens, outputTokens: maxOutputTokens };
  return { usage, cost: usdOf(price), isWaste, isEstimated: true };
}

/** Dollars; null if the price is not known. */
export function usdOf(price: Price): number | null {
  return "unpriced" in price ? null : price.usd;
}

/** A charge as it is written to the journal. */
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
