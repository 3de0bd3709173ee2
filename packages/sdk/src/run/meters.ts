import { ModelMeter, PriceBook, type PriceSource } from "@ravi/resources";
import type { HostOptions } from "./options.ts";

/** For requests that do not say how long their answer may be: room for a model that reasons first. */
const MAX_OUTPUT_TOKENS = 8_192;

export interface Metering {
  readonly book: PriceSource;
  readonly meter: ModelMeter;
}

const NO_PRICES = Object.freeze({});
/** By the prices of one's own, as long as they are what they were. */
const known = new WeakMap<object, Metering & { readonly text: string }>();

/**
 * Loading prices and a vocabulary takes longer than many a run, so runs with the same prices share what counts and prices
 * their calls, and what it has learnt of the models.
 */
export function meteringFor(prices: HostOptions["prices"]): Metering {
  const key = prices ?? NO_PRICES;
  const text = isSource(prices) ? "" : JSON.stringify(key, writable);
  const shared = known.get(key);
  if (shared?.text === text) return shared;
  const book: PriceSource = isSource(prices) ? prices : new PriceBook({ prices });
  const made = {
    text,
    book,
    meter: new ModelMeter({ prices: book, defaultMaxOutputTokens: MAX_OUTPUT_TOKENS }),
  };
  known.set(key, made);
  return made;
}

/** What JSON has no word for is refused by the book, which says where it is. */
function writable(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? `${value}n` : value;
}

function isSource(prices: HostOptions["prices"]): prices is PriceSource {
  return typeof prices?.price === "function";
}
