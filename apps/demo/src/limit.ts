import { InvalidValueError, type LLMClient } from "@ravi/kernel";
import { ModelMeter, type OwnPrices } from "@ravi/resources";
import type { Args } from "./args.ts";

/** What the whole tree may use: dollars where a price is known, tokens where it is not. */
export type Limit = { readonly usd: number } | { readonly tokens: number };

const DEFAULT_USD = 0.1;
/** Several times what the stand-in's team takes. */
const DEFAULT_TOKENS = 300_000;

/**
 * A model on one's own server has no price that anybody knows, so its tokens are counted instead. Where real money may be
 * spent, or a budget in dollars is asked for, a price has to be given: a limit that cannot be kept would be none.
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
    baseURL === undefined ? "" : "; without --budget, tokens are counted and no price is needed";
  throw new InvalidValueError({
    field: "--price",
    value: undefined,
    expected: `what ${model ?? info.model} costs, since it is not known: dollars per million tokens in and out, such as 0.25,2${instead}`,
  });
}
