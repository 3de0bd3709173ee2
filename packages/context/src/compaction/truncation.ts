import {
  type ChatMessage,
  checkFields,
  checkInteger,
  type CompactionContext,
  type CompactionStrategy,
  InvalidValueError,
} from "@ravi/kernel";
import { pinned, type Pins, pinsOf, windowFrom } from "./summary/pins.ts";
import { lastGroupStart, markValid, validPrompt } from "./prompt.ts";
import { type CountTokens, type TokenCounter, tokenCounter } from "./token-counter.ts";

export interface TruncationOptions {
  /** The maximum of a whole request: messages, system prompt and tools. */
  readonly maxTokens: number;
  /**
   * The number of tokens to cut down to once `maxTokens` is exceeded. A lower value cuts less often, which helps prompt caches.
   * Default: `maxTokens`.
   */
  readonly keepTokens?: number | undefined;
  /** Default: `estimateTokens`. */
  readonly countTokens?: CountTokens | undefined;
}

/**
 * Leaves out the oldest groups until the rest fits. The first user message and a summary are left out last. The system messages,
 * the newest user message and the newest group are kept even if they do not fit; `TokenBudget` throws in that case.
 */
export class Truncation implements CompactionStrategy {
  readonly name = "Truncation";
  readonly maxTokens: number;
  readonly keepTokens: number;
  private readonly counter: TokenCounter;

  constructor(options: TruncationOptions) {
    checkFields("Truncation", options, ["maxTokens", "keepTokens", "countTokens"]);
    this.maxTokens = checkInteger("Truncation.maxTokens", options.maxTokens, 1);
    this.keepTokens = checkInteger("Truncation.keepTokens", options.keepTokens ?? options.maxTokens, 1);
    if (this.keepTokens > this.maxTokens) {
      const expected = `at most the value of maxTokens (${this.maxTokens})`;
      throw new InvalidValueError({ field: "Truncation.keepTokens", value: this.keepTokens, expected });
    }
    this.counter = tokenCounter(options.countTokens);
  }

  compact(messages: readonly ChatMessage[], context: CompactionContext = {}): readonly ChatMessage[] {
    const { maxTokens, keepTokens, counter } = this;
    const prompt = validPrompt(messages);
    if (!counter.exceeds(prompt, context, maxTokens)) return prompt;
    return markValid(truncate({ prompt, context, counter, maxTokens, keepTokens }));
  }
}

interface TruncateOptions {
  readonly prompt: readonly ChatMessage[];
  readonly context: CompactionContext;
  readonly counter: TokenCounter;
  readonly maxTokens: number;
  readonly keepTokens: number;
}

/** The largest window that fits, with as many of the pinned messages as possible. */
export function truncate(options: TruncateOptions): readonly ChatMessage[] {
  const pins = pinsOf(options.prompt);
  const tries = [pinned(pins), pinned(pins, { first: true }), pinned(pins, { first: true, summary: true })];
  let smallest: readonly ChatMessage[] = options.prompt;
  for (const places of tries) {
    smallest = windowFrom(options.prompt, pins.front, places, startIndex(options, pins, places));
    if (!options.counter.exceeds(smallest, options.context, options.maxTokens)) return smallest;
  }
  return smallest;
}

/** Walks back from the newest group, one group at a time, as long as everything fits into `keepTokens`. */
function startIndex(options: TruncateOptions, pins: Pins, places: readonly number[]): number {
  const { prompt, counter } = options;
  const tokensAt = (at: number): number => {
    const message = prompt[at];
    return message === undefined ? 0 : counter.message(message);
  };
  let tokens = counter.fixed(options.context, prompt);
  for (let at = 0; at < pins.front; at++) tokens += tokensAt(at);
  for (const at of places) tokens += tokensAt(at);
  let start = lastGroupStart(prompt);
  for (let at = prompt.length - 1; at >= pins.front; at--) {
    if (!places.includes(at)) tokens += tokensAt(at);
    if (tokens > options.keepTokens) break;
    if (prompt[at]?.role !== "tool") start = Math.min(start, at);
  }
  return Math.max(start, pins.front);
}
