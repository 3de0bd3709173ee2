import { InvalidValueError, type LLMClient } from "@ravi/kernel";
import { ModelMeter, type OwnPrices } from "@ravi/resources";
import type { Args } from "./args.ts";

/** What the whole tree may spend: dollars if the model's price is known, otherwise tokens. */
export type Limit = { readonly usd: number } | { readonly tokens: number };

const DEFAULT_USD = 0.1;
/** Several times what the team uses with the stand-in model. */
const DEFAULT_TOKENS = 300_000;

/**
 * Chooses the limit. A model on your own server (`--base-url`) has no known price, so its tokens are limited. In all other cases,
 * and if a budget in dollars is asked for, an unknown price throws: a limit in dollars could not be enforced without it.
 */
export async function limitFor(
  { info }: LLMClient,
  prices: OwnPrices | undefined,
  { budgetUsd, baseURL, model }: Pick<Args, "budgetUsd" | "baseURL" | "model">,
): Promise<Limit> {
  const price = await new ModelMeter({ prices }).price(info, { inputTokens: 1, outputTokens: 1 });
  if (!("unpriced" in price)) return { usd: budgetUsd ?? DEFAULT_USD };
  if (budgetUsd === undefined && baseURL !== undefined) return { tokens: DEFAULT_TOKENS };
  const instead =
    baseURL === undefined ? "" : "; without --budget, tokens are limited instead and no price is needed";
  throw new InvalidValueError({
    field: "--price",
    value: undefined,
    expected: `the price of ${model ?? info.model}, which is not known: dollars per million input and output tokens, such as 0.25,2${instead}`,
  });
}
