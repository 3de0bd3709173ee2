import {
  checkInteger,
  type Estimate,
  isPromiseLike,
  type MaybePromise,
  type Meter,
  type ModelInfo,
  type ModelRequest,
  type Usage,
} from "@ravi/kernel";
import type { OwnPrices } from "./prices/own-prices.ts";
import { type BookPrice, PriceBook, type PriceSource } from "./prices/price-book.ts";
import { type LoadedCounter, loadCounter, type TokenizerChoice } from "./tokens/estimate-tokens.ts";

export interface ModelMeterOptions {
  /** A book, or only the prices of one's own for a new one. */
  readonly prices?: PriceSource | OwnPrices | undefined;
  /** Default "auto". */
  readonly tokenizer?: TokenizerChoice | undefined;
  /** What one image counts. Default 1,600. */
  readonly imageTokens?: number | undefined;
  /** For a request and a model that both do not say how long an answer may be. Default 4,096. Send the model the same figure. */
  readonly defaultMaxOutputTokens?: number | undefined;
}

/** An estimate whose price says which rates it was made with. */
export interface MeterEstimate extends Estimate {
  readonly price: BookPrice;
  /** By what the counted input was multiplied, for another vocabulary and from what was learnt. */
  readonly factor: number;
}

export const DEFAULT_MAX_OUTPUT_TOKENS = 4_096;

/** How many tokens other vocabularies may take where OpenAI's o200k takes one. */
const OTHER_VOCABULARY = 1.3;
/** Of the models of OpenAI, those from gpt-4o on have it. */
const O200K = /(?:^|[/:.])(?:gpt-(?:4o|4\.1|4\.5|[5-9]|oss)|o[1-9](?:-|$)|chatgpt|codex)/i;
/** What is added to a factor that was learnt, and how far it may go. */
const LEARNT_MARGIN = 1.05;
const MOST_FACTOR = 4;

/** Counts tokens and dollars before a call, on the high side, and prices what was really used after it. */
export class ModelMeter implements Meter {
  private readonly prices: PriceSource;
  private readonly options: ModelMeterOptions;
  private readonly defaultMaxOutput: number;
  private counter: MaybePromise<LoadedCounter> | undefined;
  private readonly learnt = new Map<string, number>();

  constructor(options: ModelMeterOptions = {}) {
    const { prices } = options;
    this.prices = isSource(prices) ? prices : new PriceBook({ prices });
    this.options = options;
    this.defaultMaxOutput = checkInteger(
      "defaultMaxOutputTokens",
      options.defaultMaxOutputTokens ?? DEFAULT_MAX_OUTPUT_TOKENS,
      1,
    );
    if (options.imageTokens !== undefined) checkInteger("imageTokens", options.imageTokens, 0);
  }

  /** What the call takes at most. The first answer may be a promise (prices and vocabulary are loaded), later ones are not. */
  estimate(info: ModelInfo, request: ModelRequest): MaybePromise<MeterEstimate> {
    const counter = this.load();
    return isPromiseLike(counter)
      ? counter.then((loaded) => this.estimateWith(loaded, info, request))
      : this.estimateWith(counter, info, request);
  }

  /**
   * What the call cost. With the estimate that was made for it, the meter learns: where a model took more input than
   * was estimated, later estimates for it are raised.
   */
  price(info: ModelInfo, usage: Usage, estimate?: MeterEstimate): MaybePromise<BookPrice> {
    if (estimate !== undefined) this.learn(info, usage, estimate);
    return this.prices.price(info, usage);
  }

  private load(): MaybePromise<LoadedCounter> {
    if (this.counter !== undefined) return this.counter;
    const loading = loadCounter(this.options);
    return (this.counter = isPromiseLike(loading)
      ? loading.then((loaded) => (this.counter = loaded))
      : loading);
  }

  private estimateWith(
    loaded: LoadedCounter,
    info: ModelInfo,
    request: ModelRequest,
  ): MaybePromise<MeterEstimate> {
    const vocabulary = loaded.basis === "o200k" && !O200K.test(info.model) ? OTHER_VOCABULARY : 1;
    const factor = Math.max(vocabulary, this.learnt.get(keyOf(info)) ?? 1);
    const inputTokens = Math.ceil(loaded.counter.count(request) * factor);
    const maxOutputTokens = request.maxOutputTokens ?? info.maxOutputTokens ?? this.defaultMaxOutput;
    const price = this.prices.worstPrice(info, inputTokens, maxOutputTokens);
    return isPromiseLike(price)
      ? price.then((known) => ({ inputTokens, maxOutputTokens, price: known, factor }))
      : { inputTokens, maxOutputTokens, price, factor };
  }

  /**
   * Only upwards: a text that happened to take little says nothing about the next one. It goes by the factor of that
   * estimate, so many calls in flight that all took more teach the same once.
   */
  private learn(info: ModelInfo, usage: Usage, estimate: MeterEstimate): void {
    if (estimate.inputTokens <= 0 || usage.inputTokens <= estimate.inputTokens) return;
    const needed = estimate.factor * (usage.inputTokens / estimate.inputTokens) * LEARNT_MARGIN;
    const key = keyOf(info);
    this.learnt.set(key, Math.min(MOST_FACTOR, Math.max(needed, this.learnt.get(key) ?? 1)));
  }
}

/** By its methods, not by its class, which another copy of this package would not share. */
function isSource(prices: PriceSource | OwnPrices | undefined): prices is PriceSource {
  return typeof prices?.price === "function";
}

function keyOf(info: ModelInfo): string {
  return `${info.provider}:${info.model}`;
}
