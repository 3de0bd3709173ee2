import { checkFields, InvalidValueError, NO_USAGE, type Usage } from "@ravi/kernel";

/** Dollars per million tokens. */
export interface Prices {
  readonly input: number;
  /** Default: the same as `input`. */
  readonly cachedInput?: number | undefined;
  readonly output: number;
}

export const DEFAULT_PRICES: Prices = Object.freeze({ input: 0.25, output: 2 });

const NANO_PER_DOLLAR = 1_000_000_000;
const TOKENS_PER_PRICE = 1_000_000n;

/**
 * The cost in whole nano-dollars. It is exact, except for one rounding per call if the prices lead to fractions of a
 * nano-dollar.
 */
export function costOf(usage: Usage, prices: Prices): bigint {
  const cached = Math.min(usage.cachedInputTokens ?? 0, usage.inputTokens);
  const millionths =
    BigInt(usage.inputTokens - cached) * nanoPerMillion("prices.input", prices.input) +
    BigInt(cached) * nanoPerMillion("prices.cachedInput", prices.cachedInput ?? prices.input) +
    BigInt(usage.outputTokens) * nanoPerMillion("prices.output", prices.output);
  return (millionths + TOKENS_PER_PRICE / 2n) / TOKENS_PER_PRICE;
}

/** Throws an `InvalidValueError` if a price is wrong. */
export function checkPrices(prices: Prices): void {
  checkFields("prices", prices, ["input", "cachedInput", "output"]);
  costOf(NO_USAGE, prices);
}

function nanoPerMillion(field: string, price: number): bigint {
  if (Number.isFinite(price) && price >= 0) return BigInt(Math.round(price * NANO_PER_DOLLAR));
  throw new InvalidValueError({ field, value: price, expected: "dollars per million tokens, 0 or more" });
}

/** Dollars as a number. Converting to nano-dollars and back is exact up to a million dollars. */
export function dollarsOf(nano: bigint): number {
  return Number(nano) / NANO_PER_DOLLAR;
}

export function nanoOf(dollars: number): bigint {
  return BigInt(Math.round(dollars * NANO_PER_DOLLAR));
}
