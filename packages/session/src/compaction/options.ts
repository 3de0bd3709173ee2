import {
  checkBoolean,
  checkFields,
  checkInteger,
  type CompactionStrategy,
  InvalidValueError,
} from "@ravi/kernel";
import { hasMethod } from "@ravi/kernel/loop";

/** When and how a conversation is compacted. */
export interface CompactionOptions {
  /** Shortens the messages, such as `Summarization` of `@ravi/context`. */
  readonly strategy: CompactionStrategy;
  /** Compact after a turn that leaves less than `reserveTokens` of the window. Default: true. */
  readonly auto?: boolean | undefined;
  /** The tokens to keep free for an answer and its tool calls. Default: 16,384, or a quarter of the window if that is less. */
  readonly reserveTokens?: number | undefined;
  /**
   * The model's window in tokens. Default: what the model's `info` says. If neither is known, the session is never compacted by
   * itself.
   */
  readonly contextWindow?: number | undefined;
}

export interface CompactionPlan {
  readonly strategy: CompactionStrategy | undefined;
  readonly auto: boolean;
  readonly reserveTokens: number | undefined;
  readonly contextWindow: number | undefined;
}

const RESERVE = 16_384;

/** `modelWindow` is what the model says of itself. */
export function compactionPlan(
  options: CompactionOptions | CompactionStrategy | undefined,
  modelWindow?: number,
): CompactionPlan {
  if (options === undefined)
    return { strategy: undefined, auto: true, reserveTokens: undefined, contextWindow: undefined };
  if (isStrategy(options)) return compactionPlan({ strategy: options });
  const field = "SessionAgent.compaction";
  checkFields(field, options, ["strategy", "auto", "reserveTokens", "contextWindow"]);
  const { strategy, auto = true, reserveTokens, contextWindow } = options;
  if (!hasMethod(strategy, "compact")) {
    const expected = "a CompactionStrategy, such as Summarization of @ravi/context";
    throw new InvalidValueError({ field: `${field}.strategy`, value: strategy, expected });
  }
  if (reserveTokens !== undefined) checkInteger(`${field}.reserveTokens`, reserveTokens, 0);
  if (contextWindow !== undefined) checkInteger(`${field}.contextWindow`, contextWindow, 1);
  const window = contextWindow ?? modelWindow;
  if (reserveTokens !== undefined && window !== undefined && reserveTokens >= window) {
    const expected = `less than the context window (${window}), which has no room for messages otherwise`;
    throw new InvalidValueError({ field: `${field}.reserveTokens`, value: reserveTokens, expected });
  }
  return { strategy, auto: checkBoolean(`${field}.auto`, auto), reserveTokens, contextWindow };
}

function isStrategy(options: CompactionOptions | CompactionStrategy): options is CompactionStrategy {
  return hasMethod(options, "compact");
}

/** The number of tokens above which a conversation is compacted. */
export function thresholdOf(window: number, reserveTokens: number | undefined): number {
  return window - (reserveTokens ?? Math.min(RESERVE, Math.floor(window / 4)));
}

/** Whether the conversation is above the threshold. Never, if the window is not known. */
export function isDue(tokens: number, window: number | null, reserveTokens: number | undefined): boolean {
  return window !== null && tokens > thresholdOf(window, reserveTokens);
}
