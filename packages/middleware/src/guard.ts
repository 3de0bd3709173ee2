import { type MaybePromise, isPromiseLike, MiddlewareTermination } from "@ravi/kernel";
import { isStop, messageOf, tellTermination } from "@ravi/kernel/loop";
import { checkWord } from "./common/options.ts";
import { hookBase } from "./common/report.ts";
import type { AnyContext } from "./types.ts";

/**
 * What happens if a guard itself fails: it blocks, or lets the call pass. The default is "block" everywhere, because a broken
 * guard guards nothing.
 */
export type OnGuardError = "block" | "allow";

export interface GuardOptions {
  readonly layer: string;
  readonly context: AnyContext;
  readonly onError: OnGuardError;
}

/** Stops the run: reports it to the hooks and throws a `MiddlewareTermination`. */
export function trip(context: AnyContext, layer: string, reason: string, cause?: unknown): never {
  const stop = new MiddlewareTermination({ layer, reason, cause });
  tellTermination(context.hooks, stop, () => hookBase(context));
  throw stop;
}

/**
 * Runs a guard's check, which returns the reason to refuse, or undefined. If the check throws, that counts as a violation unless
 * `onError` is "allow". An error that stops the run (cancelled, out of budget) is thrown on.
 */
export function runCheck(
  options: GuardOptions,
  check: () => MaybePromise<string | undefined>,
): MaybePromise<string | undefined> {
  try {
    const answer = check();
    return isPromiseLike(answer)
      ? Promise.resolve(answer).then(undefined, (error: unknown) => onCheckFailed(options, error))
      : answer;
  } catch (error) {
    return onCheckFailed(options, error);
  }
}

function onCheckFailed({ onError }: GuardOptions, error: unknown): string | undefined {
  if (isStop(error)) throw error;
  return onError === "allow" ? undefined : `the guard itself failed: ${messageOf(error)}`;
}

/** Runs a guard's check and stops the run on a violation. Returns a promise only if the check does. */
export function enforce(
  options: GuardOptions,
  check: () => MaybePromise<string | undefined>,
): MaybePromise<void> {
  const tripOnReason = (reason: string | undefined): void => {
    if (reason !== undefined) trip(options.context, options.layer, reason);
  };
  const answer = runCheck(options, check);
  return isPromiseLike(answer) ? answer.then(tripOnReason) : tripOnReason(answer);
}

export function checkOnError(field: string, value: unknown): OnGuardError {
  return value === undefined ? "block" : checkWord(field, value, ["block", "allow"]);
}
