import { checkFields, InvalidValueError, type ModelInfo } from "@ravi/kernel";
import { checkRecord } from "@ravi/kernel/loop";
import type { Rates } from "./rates.ts";

/** The price of a model, in dollars per million tokens. 0 is a price. */
export interface ModelPrice {
  /** Of input tokens that are neither read from a cache nor written to one. */
  readonly input: number;
  readonly output: number;
  /** Of input tokens read from the provider's cache. Default: the price of input. */
  readonly cachedInput?: number | undefined;
  /** Of input tokens written to the provider's cache. Default: the price of input. */
  readonly cacheWrite?: number | undefined;
  /** Of input tokens written to the cache for an hour. Default: twice the price of input, or `cacheWrite` if that is more. */
  readonly cacheWrite1h?: number | undefined;
  /** Of reasoning tokens. Default: the price of output. */
  readonly reasoning?: number | undefined;
}

/** Prices by `model` or by `provider:model`; the latter wins. The id of a client, `provider/model`, is found too. */
export type OwnPrices = Readonly<Record<string, ModelPrice>>;

const FIELDS = ["input", "output", "cachedInput", "cacheWrite", "cacheWrite1h", "reasoning"] as const;

export function readOwnPrices(prices: OwnPrices): ReadonlyMap<string, Rates> {
  checkRecord("prices", prices, 'prices such as { "provider:model": { input: 0.5, output: 1.5 } }');
  return new Map(Object.entries(prices).map(([model, price]) => [model, toRates(model, price)]));
}

export function ownRates(prices: ReadonlyMap<string, Rates>, info: ModelInfo): Rates | undefined {
  if (prices.size === 0) return undefined;
  const { provider, model } = info;
  // Last the id, as errors and permissions have it: under another name the price would be that of the catalogue, without a word.
  return prices.get(`${provider}:${model}`) ?? prices.get(model) ?? prices.get(`${provider}/${model}`);
}

function toRates(model: string, price: ModelPrice): Rates {
  checkFields(`prices["${model}"]`, price, FIELDS);
  const input = rate(model, "input", price.input);
  const output = rate(model, "output", price.output);
  return Object.freeze({
    input,
    output,
    cachedInput: rate(model, "cachedInput", price.cachedInput ?? input),
    cacheWrite: rate(model, "cacheWrite", price.cacheWrite ?? input),
    ...(price.cacheWrite1h !== undefined && {
      cacheWrite1h: rate(model, "cacheWrite1h", price.cacheWrite1h),
    }),
    reasoning: rate(model, "reasoning", price.reasoning ?? output),
    request: 0,
  });
}

function rate(model: string, field: string, value: unknown): number {
  if (typeof value === "number" && Number.isFinite(value) && value >= 0) return value;
  throw new InvalidValueError({
    field: `prices["${model}"].${field}`,
    value,
    expected: "dollars per million tokens, at least 0",
  });
}
