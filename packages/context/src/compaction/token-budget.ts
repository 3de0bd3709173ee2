import {
  type ChatMessage,
  checkFields,
  checkOneOf,
  type CompactionContext,
  type CompactionStrategy,
  ErrorKind,
  InvalidValueError,
  isPromiseLike,
  type MaybePromise,
  ProviderError,
} from "@ravi/kernel";
import { applyInOrder, checkStrategies } from "./compose.ts";
import { lastGroupStart, markValid, validPrompt } from "./prompt.ts";
import { SelectiveToolCall } from "./selective-tool-call.ts";
import { type CountTokens, type TokenCounter, tokenCounter } from "./token-counter.ts";
import { ToolResultCompaction } from "./tool-result-compaction.ts";
import { truncate } from "./truncation.ts";

export interface TokenBudgetOptions {
  /**
   * The share of the context window that a request may take. The rest is for the answer and for estimation errors. Default: 0.8.
   */
  readonly share?: number | undefined;
  /** Tried in this order until the request fits. Default: `ToolResultCompaction`, then `SelectiveToolCall`. */
  readonly strategies?: readonly CompactionStrategy[] | undefined;
  /**
   * What happens if the strategies are not enough: leave out the oldest groups ("truncate"), or throw a `ProviderError`
   * ("throw"). Default: "truncate".
   */
  readonly lastResort?: "truncate" | "throw" | undefined;
  /**
   * The share of the window that truncation cuts down to, so that it is not needed again in the next turn. Default: three
   * quarters of `share`.
   */
  readonly target?: number | undefined;
  /** In tokens, for models whose window is not known. If it is known, the smaller one counts. */
  readonly contextWindow?: number | undefined;
  /** Default: `estimateTokens`. */
  readonly countTokens?: CountTokens | undefined;
}

/** Before they are left out. */
const SHORTENED = new ToolResultCompaction({ includeUnread: true });

const LAST_RESORT = { TRUNCATE: "truncate", THROW: "throw" } as const;

/**
 * Makes a request fit into its share of the context window. Does nothing while it fits, and then no more than necessary. If it
 * cannot fit, throws a `ProviderError` of kind `CONTEXT_OVERFLOW`.
 */
export class TokenBudget implements CompactionStrategy {
  readonly name = "TokenBudget";
  readonly share: number;
  readonly target: number;
  readonly lastResort: "truncate" | "throw";
  private readonly strategies: readonly CompactionStrategy[];
  private readonly contextWindow: number | undefined;
  private readonly counter: TokenCounter;

  constructor(options: TokenBudgetOptions = {}) {
    checkFields("TokenBudget", options, [
      "share",
      "strategies",
      "lastResort",
      "target",
      "contextWindow",
      "countTokens",
    ]);
    this.share = checkShare("TokenBudget.share", options.share ?? 0.8, 1);
    this.target = checkShare("TokenBudget.target", options.target ?? this.share * 0.75, this.share);
    this.lastResort = checkOneOf("TokenBudget.lastResort", options.lastResort ?? "truncate", LAST_RESORT);
    const { strategies = [new ToolResultCompaction(), new SelectiveToolCall()] } = options;
    const list: unknown = strategies;
    if (!Array.isArray(list)) {
      const expected = "an array of CompactionStrategy objects";
      throw new InvalidValueError({ field: "TokenBudget.strategies", value: strategies, expected });
    }
    checkStrategies("TokenBudget.strategies", strategies);
    this.strategies = [...strategies];
    this.contextWindow =
      options.contextWindow === undefined
        ? undefined
        : checkWindow("TokenBudget.contextWindow", options.contextWindow);
    this.counter = tokenCounter(options.countTokens);
  }

  compact(
    messages: readonly ChatMessage[],
    context: CompactionContext = {},
  ): MaybePromise<readonly ChatMessage[]> {
    const { contextWindow = this.contextWindow } = context;
    const window = Math.min(checkWindow("contextWindow", contextWindow), this.contextWindow ?? Infinity);
    const limit = Math.floor(window * this.share);
    const fits = (prompt: readonly ChatMessage[]): boolean => !this.counter.exceeds(prompt, context, limit);
    const made = applyInOrder(this.strategies, validPrompt(messages), context, fits);
    const finish = (prompt: readonly ChatMessage[]): readonly ChatMessage[] =>
      fits(prompt) ? prompt : this.truncateOrThrow(prompt, context, window);
    return isPromiseLike(made) ? made.then(finish) : finish(made);
  }

  private truncateOrThrow(
    prompt: readonly ChatMessage[],
    context: CompactionContext,
    window: number,
  ): readonly ChatMessage[] {
    const { counter } = this;
    const maxTokens = Math.floor(window * this.share);
    if (this.lastResort === "throw") {
      throw overflow(`after all strategies the request takes ${counter.request(prompt, context)} tokens`, {
        maxTokens,
        window,
        advice: 'add a stronger strategy, or set lastResort to "truncate"',
      });
    }
    const keepTokens = Math.floor(window * this.target);
    const shortened = withShortUnread(prompt);
    if (!counter.exceeds(shortened, context, maxTokens)) return shortened;
    const smallest = truncate({ prompt, context, counter, maxTokens, keepTokens });
    if (!counter.exceeds(smallest, context, maxTokens)) return markValid(smallest);
    const { alsoSent = [] } = context;
    const always =
      alsoSent.length === 0 ? "" : "the messages that every request has besides the conversation, ";
    throw overflow(
      `the system prompt, the tools, ${always}the newest user message and the newest turn alone take ${counter.request(smallest, context)} tokens`,
      {
        maxTokens,
        window,
        advice: smallest.some(({ role }) => role === "tool") ? SHORTEN_TOOL_RESULTS : SHORTEN_REQUEST,
      },
    );
  }
}

/**
 * The prompt with short results where the user has spoken before the model has read them: only the newest group is always kept, and the
 * model is better off with a part of a result than without it.
 */
function withShortUnread(prompt: readonly ChatMessage[]): readonly ChatMessage[] {
  const calls = prompt.findLastIndex(({ role }) => role === "assistant");
  const last = lastGroupStart(prompt);
  if (calls === -1 || calls >= last) return prompt;
  const shortened = SHORTENED.compact(prompt.slice(calls, last));
  return markValid([...prompt.slice(0, calls), ...shortened, ...prompt.slice(last)]);
}

const SHORTEN_TOOL_RESULTS =
  "return less from the tool, or add a ToolResultCompaction({ includeUnread: true }) with a larger maxChars";
const SHORTEN_REQUEST =
  "shorten the message or the system prompt, attach less to it, offer fewer tools, or use a model with a larger context window";

/** The same kind of error as a provider's for a prompt that is too long, but before anything is paid, and not retryable. */
function overflow(
  what: string,
  { maxTokens, window, advice }: { maxTokens: number; window: number; advice: string },
): ProviderError {
  return new ProviderError({
    kind: ErrorKind.CONTEXT_OVERFLOW,
    retryable: false,
    message: `${what}, but only ${maxTokens} of the ${window} tokens of the context window may be used; ${advice}`,
  });
}

function checkShare(field: string, value: unknown, most: number): number {
  if (typeof value === "number" && value > 0 && value <= most) return value;
  throw new InvalidValueError({ field, value, expected: `a number above 0 and at most ${most}` });
}

function checkWindow(field: string, value: unknown): number {
  if (typeof value === "number" && Number.isFinite(value) && value >= 1) return value;
  const expected =
    "the size of the model's context window in tokens; set it with TokenBudget({ contextWindow }), or use a model whose info has a contextWindow";
  throw new InvalidValueError({ field, value, expected });
}
