import {
  checkFields,
  checkInteger,
  type Estimate,
  InvalidValueError,
  isPromiseLike,
  type MaybePromise,
  type Meter,
  type ModelInfo,
  type ModelRequest,
  type Usage,
} from "@ravi/kernel";
import type { OwnPrices } from "./prices/own-prices.ts";
import { type BookPrice, noInfo, PriceBook, type PriceSource } from "./prices/price-book.ts";
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

const OPTIONS = [
  "prices",
  "tokenizer",
  "imageTokens",
  "defaultMaxOutputTokens",
] as const satisfies readonly (keyof ModelMeterOptions)[];

/** An estimate whose price says which rates it was made with. */
export interface MeterEstimate extends Estimate {
  readonly price: BookPrice;
  /** By what the counted input was multiplied, for another vocabulary and from what was learnt. */
  readonly factor: number;
}

/** How long an answer is taken to be where neither the request nor the model says. */
export const DEFAULT_MAX_OUTPUT_TOKENS = 4_096;

/** How many tokens other vocabularies may take where OpenAI's o200k takes one. */
const OTHER_VOCABULARY = 1.3;
/** Of the models of OpenAI, those from gpt-4o on have it. */
const O200K = /(?:^|[/:.])(?:gpt-(?:4o|4\.1|4\.5|[5-9]|oss)|o[1-9](?:-|$)|chatgpt|codex)/i;
/** What is added to a factor that was learnt, and how far it may go. */
const LEARNT_MARGIN = 1.05;
const MOST_FACTOR = 4;

interface KnownModel {
  readonly provider: string;
  readonly model: string;
  /** The factor of its vocabulary over o200k. */
  readonly vocabulary: number;
  /** The factor that calls of it have taught. */
  learnt: number;
}

/** Counts tokens and dollars before a call, on the high side, and prices what was really used after it. */
export class ModelMeter implements Meter {
  private readonly prices: PriceSource;
  private readonly options: ModelMeterOptions;
  private readonly defaultMaxOutput: number;
  private loaded: LoadedCounter | undefined;
  private loading: PromiseLike<LoadedCounter> | undefined;
  private readonly models = new Map<string, KnownModel>();
  private latest: KnownModel | undefined;

  constructor(options: ModelMeterOptions = {}) {
    // Whoever extends it may have options of its own.
    if (new.target === ModelMeter) checkFields("options", options, OPTIONS);
    const { prices, tokenizer = "auto" } = options;
    if (tokenizer !== "auto" && tokenizer !== "characters" && typeof tokenizer !== "function") {
      const expected = `"auto", "characters" or a function that counts the tokens of a text`;
      throw new InvalidValueError({ field: "tokenizer", value: tokenizer, expected });
    }
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
    if (this.loaded !== undefined) return this.estimateWith(this.loaded, info, request);
    const loading = this.load();
    return isPromiseLike(loading)
      ? loading.then((loaded) => this.estimateWith(loaded, info, request))
      : this.estimateWith(loading, info, request);
  }

  /**
   * What the call cost. With the estimate that was made for it, the meter learns: where a model took more input than
   * was estimated, later estimates for it are raised.
   */
  price(info: ModelInfo, usage: Usage, estimate?: MeterEstimate): MaybePromise<BookPrice> {
    if (estimate !== undefined && estimate !== null) this.learn(info, usage, estimate);
    return this.prices.price(info, usage);
  }

  private load(): MaybePromise<LoadedCounter> {
    if (this.loading !== undefined) return this.loading;
    const loading = loadCounter(this.options);
    if (!isPromiseLike(loading)) return (this.loaded = loading);
    return (this.loading = loading.then((loaded) => (this.loaded = loaded)));
  }

  private estimateWith(
    loaded: LoadedCounter,
    info: ModelInfo,
    request: ModelRequest,
  ): MaybePromise<MeterEstimate> {
    const known = this.modelOf(info);
    const factor = loaded.basis === "o200k" ? Math.max(known.vocabulary, known.learnt) : known.learnt;
    const inputTokens = Math.ceil(loaded.counter.count(request) * factor);
    const maxOutputTokens = request.maxOutputTokens ?? info.maxOutputTokens ?? this.defaultMaxOutput;
    const price = this.prices.worstPrice(info, inputTokens, maxOutputTokens);
    return isPromiseLike(price)
      ? price.then((listed) => ({ inputTokens, maxOutputTokens, price: listed, factor }))
      : { inputTokens, maxOutputTokens, price, factor };
  }

  /** Most calls are of the model that was called last: its name need not be put together and looked up again. */
  private modelOf(info: ModelInfo): KnownModel {
    if (typeof info !== "object" || info === null) throw noInfo(info);
    const { provider, model } = info;
    const { latest } = this;
    if (latest !== undefined && latest.model === model && latest.provider === provider) return latest;
    if (typeof provider !== "string" || typeof model !== "string") throw noInfo(info);
    const key = `${provider}:${model}`;
    let known = this.models.get(key);
    if (known === undefined) {
      known = { provider, model, vocabulary: O200K.test(model) ? 1 : OTHER_VOCABULARY, learnt: 1 };
      this.models.set(key, known);
    }
    return (this.latest = known);
  }

  /**
   * Only upwards: a text that happened to take little says nothing about the next one. It goes by the factor of that
   * estimate, so many calls in flight that all took more teach the same once. What is no number teaches nothing: it would be in
   * every later estimate. Without a usage there is nothing to learn: that is for whoever prices it.
   */
  private learn(info: ModelInfo, usage: Usage, estimate: MeterEstimate): void {
    if (typeof usage !== "object" || usage === null) return;
    if (estimate.inputTokens <= 0 || usage.inputTokens <= estimate.inputTokens) return;
    const needed = estimate.factor * (usage.inputTokens / estimate.inputTokens) * LEARNT_MARGIN;
    const known = this.modelOf(info);
    if (needed > known.learnt) known.learnt = Math.min(MOST_FACTOR, needed);
  }
}

/** By its methods, not by its class, which another copy of this package would not share. */
function isSource(prices: PriceSource | OwnPrices | undefined): prices is PriceSource {
  return typeof prices?.price === "function";
}
