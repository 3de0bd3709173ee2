import type { ModelInfo } from "@ravi/kernel";
import type { Rates } from "../rates.ts";

/** A price that depends on the size of the input, as the catalogue writes it. */
interface Tiered {
  readonly base: number;
  readonly tiers: readonly { readonly start: number; readonly price: number }[];
}
type Listed = number | Tiered | undefined;
type ListedPrices = Readonly<Record<string, Listed>>;

/** The part of `@pydantic/genai-prices` that is used here. */
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

/** A model's prices, and whether they depend on the date or the time of day. */
export interface Listing {
  readonly prices: ListedPrices;
  readonly changesWithTime: boolean;
}

/** The data is 80 kB packed and takes 40 ms to load, so it is loaded with the first price. It is bundled: no network access. */
export async function loadPriceData(): Promise<PriceData> {
  const { calcPrice } = await import("@pydantic/genai-prices");
  return { calcPrice };
}

const NO_USAGE = Object.freeze({ input_tokens: 0, output_tokens: 0 });

export function findListing(data: PriceData, info: ModelInfo, now: number): Listing | undefined {
  // Without a provider the catalogue would guess one from the model's name.
  if (info.provider === "") return undefined;
  const found = data.calcPrice(NO_USAGE, info.model, { providerId: info.provider, timestamp: new Date(now) });
  if (found === null) return undefined;
  const prices = found.model_price;
  // The catalogue lists a free model without prices, but also a model that is not billed by tokens.
  const isFree = found.model.id.endsWith(":free") && Object.keys(prices).length === 0;
  return {
    prices: isFree ? { input_mtok: 0, output_mtok: 0 } : prices,
    changesWithTime: Array.isArray(found.model.prices),
  };
}

/**
 * The rates for a call of this size; undefined if one that is needed is not listed. A model that is billed by the hour or the page has no
 * price in tokens, and 0 would be wrong.
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

/** The highest tier that the input exceeds applies to all of the input, and to the output. */
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
