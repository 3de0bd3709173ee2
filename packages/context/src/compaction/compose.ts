import {
  type ChatMessage,
  type CompactionContext,
  type CompactionStrategy,
  InvalidValueError,
  isPromiseLike,
  type MaybePromise,
} from "@ravi/kernel";
import { validPrompt } from "./prompt.ts";

/** One after the other, each on what the one before it made. Waits only for those that return a promise. */
export function compose(...strategies: readonly CompactionStrategy[]): CompactionStrategy {
  checkStrategies("compose", strategies);
  const chain = [...strategies];
  return {
    compact: (messages, context) => applyInTurn(chain, validPrompt(messages), context, () => false),
  };
}

/** Goes on until `enough` says so or all were used. What a strategy from elsewhere returns is made a valid prompt too. */
export function applyInTurn(
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
      return Promise.resolve(next).then((made) => applyInTurn(rest, validPrompt(made), context, enough));
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
