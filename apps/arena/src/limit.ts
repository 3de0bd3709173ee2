import { InvalidValueError, type LLMClient } from "@ravi/kernel";
import { ModelMeter, type ModelPrice, type OwnPrices } from "@ravi/resources";

/** What each may use: dollars where a price is known, tokens where it is not. */
export type Limit = { readonly maxCostUsd: number } | { readonly maxTokens: number };

const DEFAULT_USD = 0.5;
const DEFAULT_TOKENS = 200_000;

export interface Wanted {
  /** Undefined: whatever fits the model. */
  readonly usd: number | undefined;
  readonly isOwnServer: boolean;
}

/**
 * A model on one's own server has no price that anybody knows, so its tokens are counted instead. Where real money may be
 * spent, or dollars are asked for, a price has to be given: a limit that cannot be kept would be none.
 */
export async function limitFor(
  { info }: LLMClient,
  prices: OwnPrices | undefined,
  { usd, isOwnServer }: Wanted,
): Promise<Limit> {
  const price = await new ModelMeter({ prices }).price(info, { inputTokens: 1, outputTokens: 1 });
  if (!("unpriced" in price)) return { maxCostUsd: usd ?? DEFAULT_USD };
  if (usd === undefined && isOwnServer) return { maxTokens: DEFAULT_TOKENS };
  const instead = isOwnServer ? "; without --usd, tokens are counted and no price is needed" : "";
  throw new InvalidValueError({
    field: "--price",
    value: undefined,
    expected: `what ${info.model} costs, since it is not known: dollars per million tokens in and out, such as 0.25,2${instead}`,
  });
}

export function priceIn(text: string): ModelPrice {
  const [input = Number.NaN, output = Number.NaN, ...more] = text
    .split(",")
    .map((part) => (part.trim() === "" ? Number.NaN : Number(part)));
  if (more.length === 0 && input >= 0 && output >= 0 && Number.isFinite(input + output))
    return { input, output };
  const expected = "dollars per million tokens in and out, such as 0.25,2";
  throw new InvalidValueError({ field: "--price", value: text, expected });
}
