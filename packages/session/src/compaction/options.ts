import {
  checkBoolean,
  checkFields,
  checkInteger,
  type CompactionStrategy,
  InvalidValueError,
} from "@ravi/kernel";
import { hasMethod } from "@ravi/kernel/loop";

export interface CompactionOptions {
  /** How a long conversation is made shorter. */
  readonly strategy: CompactionStrategy;
  /** After a turn that leaves less than `reserveTokens` of the window: true. */
  readonly auto?: boolean | undefined;
  /** What an answer and its tools need: 16,384, at most a quarter of the window. */
  readonly reserveTokens?: number | undefined;
  /** Where the model does not say how much it takes. */
  readonly contextWindow?: number | undefined;
}

export interface CompactionPlan {
  readonly strategy: CompactionStrategy | undefined;
  readonly auto: boolean;
  readonly reserveTokens: number | undefined;
  readonly contextWindow: number | undefined;
}

const RESERVE = 16_384;

export function compactionPlan(options: CompactionOptions | CompactionStrategy | undefined): CompactionPlan {
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
  return { strategy, auto: checkBoolean(`${field}.auto`, auto), reserveTokens, contextWindow };
}

function isStrategy(options: CompactionOptions | CompactionStrategy): options is CompactionStrategy {
  return hasMethod(options, "compact");
}

/** How many tokens a conversation may have before it is compacted. */
export function thresholdOf(window: number, reserveTokens: number | undefined): number {
  return window - (reserveTokens ?? Math.min(RESERVE, Math.floor(window / 4)));
}

/** O12: whether it is time. */
export function isDue(tokens: number, window: number | null, reserveTokens: number | undefined): boolean {
  return window !== null && tokens > thresholdOf(window, reserveTokens);
}
