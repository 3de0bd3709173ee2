import { InvalidValueError, type LLMClient } from "@ravi/kernel";
import { ModelMeter, type ModelPrice, type OwnPrices } from "@ravi/resources";

/** What each strategy may spend: dollars if the model's price is known, otherwise tokens. */
export type Limit = { readonly maxCostUsd: number } | { readonly maxTokens: number };

const DEFAULT_USD = 0.5;
const DEFAULT_TOKENS = 200_000;

export interface Wanted {
  /** Dollars for each strategy. Undefined: a default that fits the model. */
  readonly usd: number | undefined;
  readonly isOwnServer: boolean;
}

/**
 * Chooses the limit. A model on your own server has no known price, so its tokens are limited. In all other cases, and if a limit
 * in dollars is asked for, an unknown price throws: a limit in dollars could not be enforced without it.
 */
export async function limitFor(
  { info }: LLMClient,
  prices: OwnPrices | undefined,
  { usd, isOwnServer }: Wanted,
): Promise<Limit> {
  const price = await new ModelMeter({ prices }).price(info, { inputTokens: 1, outputTokens: 1 });
  if (!("unpriced" in price)) return { maxCostUsd: usd ?? DEFAULT_USD };
  if (usd === undefined && isOwnServer) return { maxTokens: DEFAULT_TOKENS };
  const instead = isOwnServer ? "; without --usd, tokens are limited instead and no price is needed" : "";
  throw new InvalidValueError({
    field: "--price",
    value: undefined,
    expected: `the price of ${info.model}, which is not known: dollars per million input and output tokens, such as 0.25,2${instead}`,
  });
}

/** Reads a price written as `IN,OUT`, in dollars per million tokens. Throws if it is anything else. */
export function priceIn(text: string): ModelPrice {
  const [input = Number.NaN, output = Number.NaN, ...more] = text
    .split(",")
    .map((part) => (part.trim() === "" ? Number.NaN : Number(part)));
  if (more.length === 0 && input >= 0 && output >= 0 && Number.isFinite(input + output))
    return { input, output };
  const expected = "dollars per million input and output tokens, such as 0.25,2";
  throw new InvalidValueError({ field: "--price", value: text, expected });
}
