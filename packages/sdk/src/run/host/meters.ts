import { ModelMeter, PriceBook, type PriceSource } from "@ravi/resources";
import type { HostOptions } from "../options.ts";

/** The most output tokens of a call if neither the request nor the model sets a limit: enough for a model that reasons first. */
const MAX_OUTPUT_TOKENS = 8_192;

export interface Metering {
  readonly book: PriceSource;
  readonly meter: ModelMeter;
}

const NO_PRICES = Object.freeze({});
/** By the user's `prices` object. `text` is its content at that time, so that an object that was changed since is noticed. */
const known = new WeakMap<object, Metering & { readonly text: string }>();

/**
 * The price book and the meter for a run. Runs with the same prices share them, and what the meter has learnt about the models,
 * because loading prices and a vocabulary takes longer than many runs.
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

/**
 * `JSON.stringify` throws at a bigint. Here it only has to be written somehow: the price book refuses it, with an error that
 * says where it is.
 */
function writable(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? `${value}n` : value;
}

function isSource(prices: HostOptions["prices"]): prices is PriceSource {
  return typeof prices?.price === "function";
}
