import {
  checkBoolean,
  checkFields,
  type Clock,
  InvalidValueError,
  isPromiseLike,
  type MaybePromise,
  type ModelInfo,
  systemClock,
  type Usage,
  type KnownPrice,
} from "@ravi/kernel";
import { checkPort } from "@ravi/kernel/loop";
import { ByModel } from "./parts/by-model.ts";
import { findListing, type Listing, loadPriceData, type PriceData, ratesFor } from "./parts/catalogue.ts";
import { ownRates, type OwnPrices, readOwnPrices } from "./own-prices.ts";
import { inputOf, priceAt, type Rates, worstPriceAt } from "./rates.ts";

export interface PriceBookOptions {
  /** Your own prices. They win over the catalogue's. */
  readonly prices?: OwnPrices | undefined;
  /** Whether to use the catalogue. Default: true. If `false`, it is never loaded and only `prices` count. */
  readonly catalogue?: boolean | undefined;
  /** For prices that change with the date or the time of day. Default: the system's. */
  readonly clock?: Clock | undefined;
}

const OPTIONS = ["prices", "catalogue", "clock"] as const satisfies readonly (keyof PriceBookOptions)[];

/** A price, the rates it was computed with and where they come from: plain data, to be recorded with the spend. */
export interface ListedPrice extends KnownPrice {
  readonly rates: Rates;
  readonly source: "own" | "catalogue";
}
/** A price, or the fact that none is known. */
export type BookPrice = ListedPrice | { readonly unpriced: true };

/** Where a meter gets prices from: a `PriceBook`, or your own implementation. */
export interface PriceSource {
  /** What a call with this usage cost. */
  price(info: ModelInfo, usage: Usage): MaybePromise<BookPrice>;
  /** What a call of this size can cost at most. */
  worstPrice(info: ModelInfo, inputTokens: number, outputTokens: number): MaybePromise<BookPrice>;
}

const UNPRICED = Object.freeze({ unpriced: true });
const MINUTE = 60_000;

/** What is known about one model. */
interface ModelEntry {
  readonly provider: string;
  readonly model: string;
  readonly own: Rates | undefined;
  listing: Listing | undefined;
  /** The listing is valid until then (epoch milliseconds); afterwards it is looked up again. */
  until: number;
}

/**
 * Prices of models: your own first, then the catalogue of `@pydantic/genai-prices`. The catalogue is loaded when it is first needed, and an
 * answer that waits for it is a promise; later answers are not. An unknown model is `unpriced`, never free.
 */
export class PriceBook implements PriceSource {
  private readonly own: ReadonlyMap<string, Rates>;
  private readonly clock: Clock;
  private data: PriceData | Promise<PriceData> | null | undefined;
  private readonly entries: ByModel<ModelEntry>;

  /** Throws an `InvalidValueError` if a price or an option is wrong. */
  constructor(options: PriceBookOptions = {}) {
    // A subclass may have options of its own.
    if (new.target === PriceBook) checkFields("options", options, OPTIONS);
    // Only `undefined` means none: any other wrong value is rejected, or the catalogue's prices would silently be used instead.
    this.own = readOwnPrices(options.prices === undefined ? {} : options.prices);
    if (options.catalogue !== undefined) checkBoolean("catalogue", options.catalogue);
    if (options.clock !== undefined) checkPort("clock", options.clock, ["now"]);
    this.clock = options.clock ?? systemClock;
    this.data = options.catalogue === false ? null : undefined;
    this.entries = new ByModel((info) => ({
      provider: info.provider,
      model: info.model,
      own: ownRates(this.own, info),
      listing: undefined,
      until: -Infinity,
    }));
  }

  /** What a call with this usage cost. */
  price(info: ModelInfo, usage: Usage): MaybePromise<BookPrice> {
    if (typeof usage !== "object" || usage === null)
      throw new InvalidValueError({
        field: "usage",
        value: usage,
        expected: "{ inputTokens, outputTokens }",
      });
    const entry = this.entries.get(info);
    const { own } = entry;
    if (own !== undefined) return { usd: priceAt(own, usage), rates: own, source: "own" };
    return this.listed(entry, info, usage.inputTokens, usage.outputTokens, usage);
  }

  /** What a call of this size can cost at most: all input at the highest input rate, such as that of writing it to a cache. */
  worstPrice(info: ModelInfo, inputTokens: number, outputTokens: number): MaybePromise<BookPrice> {
    const entry = this.entries.get(info);
    const { own } = entry;
    if (own === undefined) return this.listed(entry, info, inputTokens, outputTokens, undefined);
    const usd = worstPriceAt(own, inputTokens, outputTokens, info.cacheTtl);
    return { usd, rates: own, source: "own" };
  }

  /** From the catalogue. Without a usage, the highest possible price. */
  private listed(
    entry: ModelEntry,
    { cacheTtl }: ModelInfo,
    inputTokens: number,
    outputTokens: number,
    usage: Usage | undefined,
  ): MaybePromise<BookPrice> {
    const data = this.load();
    const answer = (loaded: PriceData | null): BookPrice => {
      const listing = loaded === null ? undefined : this.lookUp(loaded, entry);
      if (listing === undefined) return UNPRICED;
      const input = usage === undefined ? inputTokens : inputOf(usage);
      const rates = ratesFor(listing, input, outputTokens);
      if (rates === undefined) return UNPRICED;
      const usd =
        usage === undefined
          ? worstPriceAt(rates, inputTokens, outputTokens, cacheTtl)
          : priceAt(rates, usage);
      return { usd, rates, source: "catalogue" };
    };
    return isPromiseLike(data) ? data.then(answer) : answer(data);
  }

  private load(): PriceData | null | Promise<PriceData> {
    if (this.data !== undefined) return this.data;
    const loading = loadPriceData().then(
      (data) => (this.data = data),
      (failure: unknown) => {
        // The next question tries again.
        this.data = undefined;
        throw failure;
      },
    );
    return (this.data = loading);
  }

  /** A lookup in the catalogue takes 50 µs, so each model is looked up once (or once a minute if its price changes with time). */
  private lookUp(data: PriceData, entry: ModelEntry): Listing | undefined {
    if (entry.until === Infinity) return entry.listing;
    const now = this.clock.now();
    if (now < entry.until) return entry.listing;
    entry.listing = findListing(data, entry, now);
    entry.until =
      entry.listing?.changesWithTime === true ? (Math.floor(now / MINUTE) + 1) * MINUTE : Infinity;
    return entry.listing;
  }
}
