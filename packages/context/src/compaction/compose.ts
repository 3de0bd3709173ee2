import {
  type ChatMessage,
  type CompactionContext,
  type CompactionStrategy,
  InvalidValueError,
  isPromiseLike,
  type MaybePromise,
} from "@ravi/kernel";
import { validPrompt } from "./prompt.ts";

/**
 * Applies strategies one after the other, each to the result of the one before. Synchronous unless a strategy returns a promise.
 */
export function compose(...strategies: readonly CompactionStrategy[]): CompactionStrategy {
  checkStrategies("compose", strategies);
  const chain = [...strategies];
  return {
    compact: (messages, context) => applyInOrder(chain, validPrompt(messages), context, () => false),
  };
}

/**
 * Applies strategies in order until `enough` returns true or all were used. The result of each is repaired to a valid prompt,
 * because a user's strategy may return anything.
 */
export function applyInOrder(
  strategies: readonly CompactionStrategy[],
  prompt: readonly ChatMessage[],
  context: CompactionContext | undefined,
  enough: (prompt: readonly ChatMessage[]) => boolean,
): MaybePromise<readonly ChatMessage[]> {
  let current = prompt;
  for (const [at, strategy] of strategies.entries()) {
    if (enough(current)) return current;
    const next = strategy.compact(current, context);
    if (isPromiseLike(next)) {
      const rest = strategies.slice(at + 1);
      return Promise.resolve(next).then((made) => applyInOrder(rest, validPrompt(made), context, enough));
    }
    current = validPrompt(next);
  }
  return current;
}

export function checkStrategies(field: string, strategies: readonly CompactionStrategy[]): void {
  for (const [at, strategy] of strategies.entries()) {
    if (typeof strategy?.compact === "function") continue;
    const expected = "a strategy: an object with a method compact(messages, context)";
    throw new InvalidValueError({ field: `${field}[${at}]`, value: strategy, expected });
  }
}
