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
import { checkClock } from "../clock-check.ts";
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

const OPTIONS = ["prices", "catalogue", "clock"] as const satisfies readonly (keyof PriceBookOptions)[];

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

/** Of whatever was given for the `info` of a model. */
export function noInfo(value: unknown): InvalidValueError {
  const expected = "what is known of a model: { provider, model }, which are texts";
  return new InvalidValueError({ field: "info", value, expected });
}

const UNPRICED = Object.freeze({ unpriced: true });
const MINUTE = 60_000;

/** What is known of one model. */
interface Page {
  readonly provider: string;
  readonly model: string;
  readonly own: Rates | undefined;
  listing: Listing | undefined;
  /** Until when the listing may be used; it is looked up again afterwards. */
  until: number;
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
  private latest: Page | undefined;

  constructor(options: PriceBookOptions = {}) {
    // Whoever extends it may have options of its own.
    if (new.target === PriceBook) checkFields("options", options, OPTIONS);
    // Read as none, prices that cannot be read would leave the catalogue's, and the bill would be another.
    this.own = readOwnPrices(options.prices === undefined ? {} : options.prices);
    if (options.catalogue !== undefined) checkBoolean("catalogue", options.catalogue);
    this.clock = checkClock(options.clock) ?? systemClock;
    this.data = options.catalogue === false ? null : undefined;
  }

  price(info: ModelInfo, usage: Usage): MaybePromise<BookPrice> {
    if (typeof usage !== "object" || usage === null)
      throw new InvalidValueError({
        field: "usage",
        value: usage,
        expected: "{ inputTokens, outputTokens }",
      });
    const page = this.pageOf(info);
    const { own } = page;
    if (own !== undefined) return { usd: priceAt(own, usage), rates: own, source: "own" };
    return this.listed(page, info, usage.inputTokens, usage.outputTokens, usage);
  }

  /** With all of the input written to a cache, if that is dearer. */
  worstPrice(info: ModelInfo, inputTokens: number, outputTokens: number): MaybePromise<BookPrice> {
    const page = this.pageOf(info);
    const { own } = page;
    if (own === undefined) return this.listed(page, info, inputTokens, outputTokens, undefined);
    const usd = worstPriceAt(own, inputTokens, outputTokens, info.cacheTtl);
    return { usd, rates: own, source: "own" };
  }

  /** From the catalogue; without a usage, at its worst. */
  private listed(
    page: Page,
    { cacheTtl }: ModelInfo,
    inputTokens: number,
    outputTokens: number,
    usage: Usage | undefined,
  ): MaybePromise<BookPrice> {
    const data = this.load();
    const answer = (loaded: PriceData | null): BookPrice => {
      const listing = loaded === null ? undefined : this.look(loaded, page);
      const rates = listing === undefined ? undefined : ratesFor(listing, inputTokens, outputTokens);
      if (rates === undefined) return UNPRICED;
      const usd =
        usage === undefined
          ? worstPriceAt(rates, inputTokens, outputTokens, cacheTtl)
          : priceAt(rates, usage);
      return { usd, rates, source: "catalogue" };
    };
    return isPromiseLike(data) ? data.then(answer) : answer(data);
  }

  /** Most questions are about the model of the last one: its name need not be put together and looked up again. */
  private pageOf(info: ModelInfo): Page {
    if (typeof info !== "object" || info === null) throw noInfo(info);
    const { provider, model } = info;
    const { latest } = this;
    if (latest !== undefined && latest.model === model && latest.provider === provider) return latest;
    if (typeof provider !== "string" || typeof model !== "string") throw noInfo(info);
    const key = `${provider}\n${model}`;
    let page = this.pages.get(key);
    if (page === undefined) {
      page = { provider, model, own: ownRates(this.own, info), listing: undefined, until: -Infinity };
      this.pages.set(key, page);
    }
    return (this.latest = page);
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
  private look(data: PriceData, page: Page): Listing | undefined {
    if (page.until === Infinity) return page.listing;
    const now = this.clock.now();
    if (now < page.until) return page.listing;
    page.listing = findListing(data, page, now);
    page.until = page.listing?.changesWithTime === true ? (Math.floor(now / MINUTE) + 1) * MINUTE : Infinity;
    return page.listing;
  }
}
