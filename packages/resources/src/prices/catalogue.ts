import type { ModelInfo } from "@ravi/kernel";
import type { Rates } from "./rates.ts";

/** A price that grows with the size of the input, as the catalogue writes it. */
interface Tiered {
  readonly base: number;
  readonly tiers: readonly { readonly start: number; readonly price: number }[];
}
type Listed = number | Tiered | undefined;
type ListedPrices = Readonly<Record<string, Listed>>;

/** As much of `@pydantic/genai-prices` as is used here. */
export interface PriceData {
  calcPrice(
    usage: { readonly input_tokens: number; readonly output_tokens: number },
    model: string,
    options: { readonly providerId: string; readonly timestamp: Date },
  ): {
    readonly model: { readonly id: string; readonly prices: unknown };
    readonly model_price: ListedPrices;
  } | null;
}

/** A model's prices, and whether they depend on the day or the hour. */
export interface Listing {
  readonly prices: ListedPrices;
  readonly changesWithTime: boolean;
}

/** The data is 80 kB packed and takes 40 ms to load, so it comes when the first price is asked for. It is bundled: no network. */
export async function loadPriceData(): Promise<PriceData> {
  const { calcPrice } = await import("@pydantic/genai-prices");
  return { calcPrice };
}

const NO_USAGE = Object.freeze({ input_tokens: 0, output_tokens: 0 });

export function findListing(data: PriceData, info: ModelInfo, now: number): Listing | undefined {
  // Without a provider the catalogue would guess one by the model's name.
  if (info.provider === "") return undefined;
  const found = data.calcPrice(NO_USAGE, info.model, { providerId: info.provider, timestamp: new Date(now) });
  if (found === null) return undefined;
  const prices = found.model_price;
  // The catalogue writes a free model as one with no prices, but also a model that is not paid for by tokens.
  const isFree = found.model.id.endsWith(":free") && Object.keys(prices).length === 0;
  return {
    prices: isFree ? { input_mtok: 0, output_mtok: 0 } : prices,
    changesWithTime: Array.isArray(found.model.prices),
  };
}

/**
 * The rates for a call of this size, or undefined where the list lacks one that is needed: a model that is paid for by the
 * hour or the page has no price in tokens, and 0 would be a lie.
 */
export function ratesFor(listing: Listing, inputTokens: number, outputTokens: number): Rates | undefined {
  const { prices } = listing;
  const input = at(prices["input_mtok"], inputTokens);
  const output = at(prices["output_mtok"], inputTokens);
  if (input === undefined || (output === undefined && outputTokens > 0)) return undefined;
  const cacheWrite1h = at(prices["cache_write_1h_mtok"], inputTokens);
  return {
    input,
    cachedInput: at(prices["cache_read_mtok"], inputTokens) ?? input,
    cacheWrite: at(prices["cache_write_mtok"], inputTokens) ?? input,
    ...(cacheWrite1h === undefined ? undefined : { cacheWrite1h }),
    output: output ?? 0,
    reasoning: at(prices["output_reasoning_mtok"], inputTokens) ?? output ?? 0,
    request: (at(prices["requests_kcount"], inputTokens) ?? 0) / 1000,
  };
}

/** The highest tier that the input has passed applies to all of it, and to the output too. */
function at(listed: Listed, inputTokens: number): number | undefined {
  if (typeof listed !== "object") return listed;
  let price = listed.base;
  let start = -1;
  for (const tier of listed.tiers) {
    if (inputTokens > tier.start && tier.start > start) {
      price = tier.price;
      start = tier.start;
    }
  }
  return price;
}
