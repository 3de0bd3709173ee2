import {
  type Clock,
  isPromiseLike,
  type MaybePromise,
  type ModelInfo,
  systemClock,
  type Usage,
  type KnownPrice,
} from "@ravi/kernel";
import { findListing, type Listing, loadPriceData, type PriceData, ratesFor } from "./catalogue.ts";
import { ownRates, type OwnPrices, readOwnPrices } from "./own-prices.ts";
import { priceAt, type Rates, worstPriceAt } from "./rates.ts";

export interface PriceBookOptions {
  /** They go before the catalogue. */
  readonly prices?: OwnPrices | undefined;
  /** Default true. `false`: only own prices count, and the catalogue is never loaded. */
  readonly catalogue?: boolean | undefined;
  /** Some prices change with the day or the hour. */
  readonly clock?: Clock | undefined;
}

/** A price with the rates that made it and where they come from: plain data, to be recorded with the spend. */
export interface ListedPrice extends KnownPrice {
  readonly rates: Rates;
  readonly source: "own" | "catalogue";
}
export type BookPrice = ListedPrice | { readonly unpriced: true };

/** What a meter asks for prices: a `PriceBook`, or one's own. */
export interface PriceSource {
  /** What a call has cost. */
  price(info: ModelInfo, usage: Usage): MaybePromise<BookPrice>;
  /** What a call of this size can cost at most. */
  worstPrice(info: ModelInfo, inputTokens: number, outputTokens: number): MaybePromise<BookPrice>;
}

const UNPRICED = Object.freeze({ unpriced: true });
const MINUTE = 60_000;

interface Page {
  readonly listing: Listing | undefined;
  /** Until when it may be used; it is looked up again afterwards. */
  readonly until: number;
}

/**
 * What models cost. Own prices first, then the catalogue of `@pydantic/genai-prices`, which is loaded when it is first needed:
 * that one answer is a promise, later ones are not. An unknown model is `unpriced`, never free.
 */
export class PriceBook implements PriceSource {
  private readonly own: ReadonlyMap<string, Rates>;
  private readonly clock: Clock;
  private data: PriceData | Promise<PriceData> | null | undefined;
  private readonly pages = new Map<string, Page>();

  constructor(options: PriceBookOptions = {}) {
    this.own = readOwnPrices(options.prices ?? {});
    this.clock = options.clock ?? systemClock;
    this.data = options.catalogue === false ? null : undefined;
  }

  price(info: ModelInfo, usage: Usage): MaybePromise<BookPrice> {
    return this.ask(info, usage.inputTokens, usage.outputTokens, (rates) => priceAt(rates, usage));
  }

  /** With all of the input written to a cache, if that is dearer. */
  worstPrice(info: ModelInfo, inputTokens: number, outputTokens: number): MaybePromise<BookPrice> {
    return this.ask(info, inputTokens, outputTokens, (rates) =>
      worstPriceAt(rates, inputTokens, outputTokens),
    );
  }

  private ask(
    info: ModelInfo,
    inputTokens: number,
    outputTokens: number,
    priceOf: (rates: Rates) => number,
  ): MaybePromise<BookPrice> {
    const own = ownRates(this.own, info);
    if (own !== undefined) return { usd: priceOf(own), rates: own, source: "own" };
    const data = this.load();
    const answer = (loaded: PriceData | null): BookPrice => {
      const listing = loaded === null ? undefined : this.look(loaded, info);
      const rates = listing === undefined ? undefined : ratesFor(listing, inputTokens, outputTokens);
      return rates === undefined ? UNPRICED : { usd: priceOf(rates), rates, source: "catalogue" };
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

  /** Finding a model takes the catalogue 50 µs, so each is found once. */
  private look(data: PriceData, info: ModelInfo): Listing | undefined {
    const key = `${info.provider}\n${info.model}`;
    const page = this.pages.get(key);
    if (page !== undefined && (page.until === Infinity || this.clock.now() < page.until)) return page.listing;
    const now = this.clock.now();
    const listing = findListing(data, info, now);
    const until = listing?.changesWithTime === true ? (Math.floor(now / MINUTE) + 1) * MINUTE : Infinity;
    this.pages.set(key, { listing, until });
    return listing;
  }
}
