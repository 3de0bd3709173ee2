import { isPromiseLike, type MaybePromise, type ModelRequest } from "@ravi/kernel";
import { charactersToTokens } from "./parts/characters.ts";
import { RequestCounter } from "./count-request.ts";
import { type CountText, type Encoding, loadEncoding, sliced } from "./tokenizer.ts";

/**
 * How texts are counted. "auto": by `gpt-tokenizer` (o200k) if it is installed, else by characters. "characters": always by characters;
 * `gpt-tokenizer` is never loaded. A function: your own tokenizer.
 */
export type TokenizerChoice = "auto" | "characters" | CountText;

/**
 * A counter, and what it counts with: `o200k` (exact for OpenAI's models only), `characters` (rather too high for all), or your
 * own tokenizer.
 */
export interface LoadedCounter {
  readonly counter: RequestCounter;
  readonly basis: "o200k" | "characters" | "own";
}

export interface CounterOptions {
  readonly tokenizer?: TokenizerChoice | undefined;
  readonly imageTokens?: number | undefined;
}

/** The counter of each vocabulary. Shared, because it remembers words. */
const counters = new WeakMap<Encoding, CountText>();

function counterOf(encoding: Encoding): CountText {
  let count = counters.get(encoding);
  if (count === undefined) counters.set(encoding, (count = sliced(encoding)));
  return count;
}

/** With "auto" it returns a promise: the vocabulary takes 0.1 s to load. */
export function loadCounter(options: CounterOptions = {}): MaybePromise<LoadedCounter> {
  const { tokenizer = "auto", imageTokens } = options;
  const counting = (count: CountText, basis: LoadedCounter["basis"]): LoadedCounter => ({
    counter: new RequestCounter(count, imageTokens),
    basis,
  });
  const byCharacters = (): LoadedCounter => counting(charactersToTokens, "characters");
  if (tokenizer === "characters") return byCharacters();
  if (tokenizer !== "auto") return counting(tokenizer, "own");
  return loadEncoding().then((encoding) =>
    encoding === undefined ? byCharacters() : counting(counterOf(encoding), "o200k"),
  );
}

/** One counter for the whole process, so that the vocabulary is loaded once and counts are cached across callers. */
let shared: MaybePromise<LoadedCounter> | undefined;

/**
 * Estimates the tokens of a request: messages with their tool calls, tools, output schema, images and files. It uses `gpt-tokenizer` if it
 * is installed, else a rule over characters that is rather too high. The first answers may be promises, while the tokenizer loads; later
 * ones are numbers. For a price or a limit use a `ModelMeter`, which adds a margin for models with other vocabularies.
 */
export function estimateTokens(request: ModelRequest): MaybePromise<number> {
  if (shared === undefined) {
    const loading = loadCounter();
    shared = isPromiseLike(loading) ? loading.then((loaded) => (shared = loaded)) : loading;
  }
  return isPromiseLike(shared)
    ? shared.then((loaded) => loaded.counter.count(request))
    : shared.counter.count(request);
}
