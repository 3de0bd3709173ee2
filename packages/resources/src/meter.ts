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
import { ByModel } from "./prices/parts/by-model.ts";
import type { OwnPrices } from "./prices/own-prices.ts";
import { type BookPrice, PriceBook, type PriceSource } from "./prices/price-book.ts";
import { RequestCounter } from "./tokens/count-request.ts";
import { type LoadedCounter, loadCounter, type TokenizerChoice } from "./tokens/estimate-tokens.ts";
import { charactersToTokens } from "./tokens/parts/characters.ts";

export interface ModelMeterOptions {
  /** A price book, or your own prices for a new `PriceBook`. Default: a `PriceBook` with the catalogue only. */
  readonly prices?: PriceSource | OwnPrices | undefined;
  /** How texts are counted. Default: "auto". */
  readonly tokenizer?: TokenizerChoice | undefined;
  /** The tokens of one image. Default: 1,600. */
  readonly imageTokens?: number | undefined;
  /**
   * The longest answer, in tokens, if neither the request nor the model limits it. Default: 4,096. Send the model the same limit.
   */
  readonly defaultMaxOutputTokens?: number | undefined;
}

const OPTIONS = [
  "prices",
  "tokenizer",
  "imageTokens",
  "defaultMaxOutputTokens",
] as const satisfies readonly (keyof ModelMeterOptions)[];

/** An estimate whose price includes the rates it was computed with. */
export interface MeterEstimate extends Estimate {
  readonly price: BookPrice;
  /** What the counted input was multiplied by: for the model's vocabulary, or learnt from earlier calls. */
  readonly factor: number;
  /** What was added to it then, as learnt from earlier calls: a provider may add a text of its own to each request. */
  readonly extra: number;
  /** The counted tokens of images and files, and what they were multiplied by. Absent if there are none. */
  readonly attached?: Attached | undefined;
}

interface Attached {
  readonly tokens: number;
  readonly factor: number;
}

/** The longest answer, in tokens, that is assumed if neither the request nor the model limits it. */
export const DEFAULT_MAX_OUTPUT_TOKENS = 4_096;

/** How many tokens other vocabularies may need where OpenAI's o200k needs one. */
const OTHER_VOCABULARY = 1.3;
/** Models that use the o200k vocabulary: OpenAI's from gpt-4o on. */
const O200K = /(?:^|[/:.])(?:gpt-(?:4o|4\.1|4\.5|[5-9]|oss)|o[1-9](?:-|$)|chatgpt|codex)/i;
/** How many tokens of o200k a text may have where its characters count one: letters that make no words have 1.5, and the worst of them 2.24. */
const CHARACTERS_TOO_LOW = 2.25;
/** The margin on a learnt factor, and the highest factor. */
const LEARNT_MARGIN = 1.05;
const MAX_FACTOR = 4;
/**
 * Up to so many tokens more than were counted are taken for a text that the provider adds to each request, such as the instructions for tools
 * (350 at Anthropic). As a factor, those of a first short request would multiply all later ones.
 */
const MAX_EXTRA = 1_000;

interface KnownModel {
  readonly provider: string;
  readonly model: string;
  /** The factor of its vocabulary compared with o200k. */
  readonly vocabulary: number;
  /** The factor learnt from its calls. */
  learnt: number;
  /** The same for images and files, which are counted without looking at them. */
  learntAttached: number;
  /** The tokens that are added to each of its requests, learnt as well. */
  extra: number;
}

/** Estimates tokens and dollars before a call, rather too high than too low, and prices the actual usage after it. */
export class ModelMeter implements Meter {
  private readonly prices: PriceSource;
  /** A copy, because it is read with the first estimate. */
  private readonly counting: Pick<ModelMeterOptions, "tokenizer" | "imageTokens">;
  private readonly defaultMaxOutput: number;
  private loaded: LoadedCounter | undefined;
  private loading: PromiseLike<LoadedCounter> | undefined;
  private byCharacters: RequestCounter | undefined;
  /** The latest quick estimate, until its call is priced. */
  private quick: MaybePromise<MeterEstimate> | undefined;
  private readonly models = new ByModel(newModel);

  /** Throws an `InvalidValueError` if an option is wrong. */
  constructor(options: ModelMeterOptions = {}) {
    // A subclass may have options of its own.
    if (new.target === ModelMeter) checkFields("options", options, OPTIONS);
    const { prices, tokenizer = "auto", imageTokens } = options;
    if (tokenizer !== "auto" && tokenizer !== "characters" && typeof tokenizer !== "function") {
      const expected = `"auto", "characters" or a function that counts the tokens of a text`;
      throw new InvalidValueError({ field: "tokenizer", value: tokenizer, expected });
    }
    this.prices = isSource(prices) ? prices : new PriceBook({ prices });
    this.counting = { tokenizer, imageTokens };
    this.defaultMaxOutput = checkInteger(
      "defaultMaxOutputTokens",
      options.defaultMaxOutputTokens ?? DEFAULT_MAX_OUTPUT_TOKENS,
      1,
    );
    if (imageTokens !== undefined) checkInteger("imageTokens", imageTokens, 0);
  }

  /** The most that the call can use. The first answers may be promises, while prices and vocabulary load; later ones are not. */
  estimate(info: ModelInfo, request: ModelRequest): MaybePromise<MeterEstimate> {
    if (this.loaded !== undefined) return this.estimateWith(this.loaded, info, request);
    const loading = this.load();
    return isPromiseLike(loading)
      ? loading.then((loaded) => this.estimateWith(loaded, info, request))
      : this.estimateWith(loading, info, request);
  }

  /**
   * The same, counted by characters: never lower, and without the vocabulary of the tokenizer, which takes 0.1 s to load and 65 MB. Undefined
   * if `estimate` needs none or has loaded it, if the model has used more than was estimated, and until the call of the one before is priced:
   * what many calls at once set aside too much would add up.
   */
  quickEstimate(info: ModelInfo, request: ModelRequest): MaybePromise<MeterEstimate> | undefined {
    const { tokenizer, imageTokens } = this.counting;
    const { learnt, learntAttached, extra, vocabulary } = this.models.get(info);
    const isKnown = learnt > 1 || learntAttached > 1 || extra > 0;
    if (tokenizer !== "auto" || this.loaded !== undefined || this.quick !== undefined || isKnown)
      return undefined;
    // A subclass that estimates in another way is not passed over.
    if (this.estimate !== ModelMeter.prototype.estimate) return undefined;
    this.byCharacters ??= new RequestCounter(charactersToTokens, imageTokens);
    const factor = vocabulary * CHARACTERS_TOO_LOW;
    const made = this.counted(info, request, this.byCharacters, factor, factor, 0);
    return (this.quick = isPromiseLike(made) ? made.then((quick) => (this.quick = quick)) : made);
  }

  /**
   * What the call cost. If the estimate made for it is passed, the meter learns: if the model used more input than estimated,
   * later estimates for this model are raised.
   */
  price(info: ModelInfo, usage: Usage, estimate?: MeterEstimate): MaybePromise<BookPrice> {
    if (estimate !== undefined && estimate !== null) this.learn(info, usage, estimate);
    if (estimate === this.quick) this.quick = undefined;
    return this.prices.price(info, usage);
  }

  private load(): MaybePromise<LoadedCounter> {
    if (this.loading !== undefined) return this.loading;
    const loading = loadCounter(this.counting);
    if (!isPromiseLike(loading)) return (this.loaded = loading);
    return (this.loading = loading.then((loaded) => (this.loaded = loaded)));
  }

  private estimateWith(
    loaded: LoadedCounter,
    info: ModelInfo,
    request: ModelRequest,
  ): MaybePromise<MeterEstimate> {
    const { vocabulary, learnt, learntAttached, extra } = this.models.get(info);
    const least = loaded.basis === "o200k" ? vocabulary : 1;
    const factor = Math.max(least, learnt);
    const attachedFactor = Math.max(least, learntAttached);
    return this.counted(info, request, loaded.counter, factor, attachedFactor, extra);
  }

  private counted(
    info: ModelInfo,
    request: ModelRequest,
    counter: RequestCounter,
    factor: number,
    attachedFactor: number,
    extra: number,
  ): MaybePromise<MeterEstimate> {
    const all = counter.count(request);
    const tokens = counter.latestAttached;
    const inputTokens = Math.ceil(all * factor + tokens * (attachedFactor - factor)) + extra;
    const maxOutputTokens = request.maxOutputTokens ?? info.maxOutputTokens ?? this.defaultMaxOutput;
    const price = this.prices.worstPrice(info, inputTokens, maxOutputTokens);
    const attached = tokens === 0 ? undefined : { tokens, factor: attachedFactor };
    return isPromiseLike(price)
      ? price.then((listed) =>
          withAttached({ inputTokens, maxOutputTokens, price: listed, factor, extra }, attached),
        )
      : withAttached({ inputTokens, maxOutputTokens, price, factor, extra }, attached);
  }

  /**
   * Only raises what it knows: a text that needed few tokens says nothing about the next one. It starts from what that estimate was made
   * with, so that many concurrent calls which exceeded it raise it once, not once each. NaN fails the comparisons and is ignored; otherwise
   * it would spoil every later estimate. Without a usage there is nothing to learn. Of a request with images or files, it is these that took
   * more: how much they take can only be guessed, and a text is counted.
   */
  private learn(info: ModelInfo, usage: Usage, estimate: MeterEstimate): void {
    if (typeof usage !== "object" || usage === null) return;
    const { inputTokens, factor, extra, attached } = estimate;
    if (inputTokens <= 0 || usage.inputTokens <= inputTokens) return;
    const known = this.models.get(info);
    const needed = usage.inputTokens * LEARNT_MARGIN;
    const counted = inputTokens - extra;
    const excess = Math.ceil(needed - counted);
    if (excess <= MAX_EXTRA) {
      if (excess > known.extra) known.extra = excess;
      return;
    }
    if (attached === undefined) {
      const learnt = (factor * (needed - extra)) / counted;
      if (learnt > known.learnt) known.learnt = Math.min(MAX_FACTOR, learnt);
      return;
    }
    const learnt = attached.factor + excess / attached.tokens;
    if (learnt > known.learntAttached) known.learntAttached = Math.min(MAX_FACTOR, learnt);
  }
}

/** Most estimates have no such field, so that all of them have the same shape. */
function withAttached(estimate: MeterEstimate, attached: Attached | undefined): MeterEstimate {
  return attached === undefined ? estimate : { ...estimate, attached };
}

function newModel({ provider, model }: ModelInfo): KnownModel {
  const vocabulary = O200K.test(model) ? 1 : OTHER_VOCABULARY;
  return { provider, model, vocabulary, learnt: 1, learntAttached: 1, extra: 0 };
}

/** Checks a method, not the class: another copy of this package has another class. */
function isSource(prices: PriceSource | OwnPrices | undefined): prices is PriceSource {
  return typeof prices?.price === "function";
}
