import { ModelMeter, PriceBook, type PriceSource } from "@ravi/resources";
import type { HostOptions } from "../options.ts";

/** The most output tokens of a call if neither the request nor the model sets a limit: enough for a model that reasons first. */
const MAX_OUTPUT_TOKENS = 8_192;

export interface Metering {
  readonly book: PriceSource;
  readonly meter: ModelMeter;
}

/** By the user's own source of prices. */
const ofSources = new WeakMap<PriceSource, Metering>();
/** By the text of the user's prices, since most programs write them anew for each run. */
const ofPrices = new Map<string, Metering>();
/** How many different prices are remembered. After that all are forgotten, and begin anew. */
const MOST = 100;

/**
 * The price book and the meter for a run. Runs with the same prices share them, and what the meter has learnt about the models,
 * because loading prices and a vocabulary takes longer than many runs.
 */
export function meteringFor(prices: HostOptions["prices"]): Metering {
  if (isSource(prices)) {
    const known = ofSources.get(prices) ?? metering(prices);
    ofSources.set(prices, known);
    return known;
  }
  // Made first, because it checks them: what is no price may have the same text as a price.
  const book = new PriceBook({ prices });
  const text = JSON.stringify(prices ?? {});
  const known = ofPrices.get(text);
  if (known !== undefined) return known;
  if (ofPrices.size === MOST) ofPrices.clear();
  const made = metering(book);
  ofPrices.set(text, made);
  return made;
}

function metering(book: PriceSource): Metering {
  return { book, meter: new ModelMeter({ prices: book, defaultMaxOutputTokens: MAX_OUTPUT_TOKENS }) };
}

export function isSource(prices: HostOptions["prices"]): prices is PriceSource {
  return typeof prices?.price === "function";
}
