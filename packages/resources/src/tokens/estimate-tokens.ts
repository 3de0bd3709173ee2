import { isPromiseLike, type MaybePromise, type ModelRequest } from "@ravi/kernel";
import { charactersToTokens } from "./characters.ts";
import { RequestCounter } from "./count-request.ts";
import { type CountText, loadEncoding, sliced } from "./tokenizer.ts";

/**
 * How texts are counted. "auto": by `gpt-tokenizer` (o200k) where it is installed, else by characters. "characters": never
 * load it. A function: one's own tokenizer.
 */
export type TokenizerChoice = "auto" | "characters" | CountText;

/** A counter, and whether it knows the vocabulary of OpenAI's models or errs on the high side for all. */
export interface LoadedCounter {
  readonly counter: RequestCounter;
  readonly basis: "o200k" | "characters" | "own";
}

export interface CounterOptions {
  readonly tokenizer?: TokenizerChoice | undefined;
  readonly imageTokens?: number | undefined;
}

/** With "auto" the first answer is a promise: the vocabulary takes 0.1 s to load. */
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
    encoding === undefined ? byCharacters() : counting(sliced(encoding), "o200k"),
  );
}

/** What was counted once is not counted again, whoever asks; the vocabulary is loaded once. */
let shared: MaybePromise<LoadedCounter> | undefined;

/**
 * About how many tokens a request has: messages with their tool calls, tools, output schema, images and files. Counted by
 * `gpt-tokenizer` where it is installed, else by a rule over characters that errs on the high side. The first answer may be a
 * promise, later ones are numbers. For a price or a limit, use a `ModelMeter`: it adds what other vocabularies take.
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
