import { checkBoolean, checkFields, checkInteger, type ClassifiedError } from "@ravi/kernel";
import { backoffMs } from "@ravi/kernel/loop";

/** How failed model calls are retried. Times are in milliseconds. */
export interface RetryOptions {
  /** Default: true. */
  readonly enabled?: boolean | undefined;
  /** How many times in a row a failed model call is retried. Default: 3. */
  readonly maxRetries?: number | undefined;
  /** The upper bound of the first wait; it doubles with each retry, and the wait is chosen at random below it. Default: 1,000. */
  readonly baseDelayMs?: number | undefined;
  /** The upper bound of any wait that the server did not ask for. Default: 60,000. */
  readonly maxDelayMs?: number | undefined;
  /** If the server asks for a longer wait than this, the call fails at once. Default: 600,000. */
  readonly maxRetryAfterMs?: number | undefined;
}

export interface RetryPlan {
  readonly maxRetries: number;
  readonly baseDelayMs: number;
  readonly maxDelayMs: number;
  readonly maxRetryAfterMs: number;
}

const DEFAULTS: RetryPlan = {
  maxRetries: 3,
  baseDelayMs: 1_000,
  maxDelayMs: 60_000,
  maxRetryAfterMs: 600_000,
};

export function retryPlan(options: RetryOptions | false = {}): RetryPlan {
  if (options === false) return { ...DEFAULTS, maxRetries: 0 };
  checkFields("SessionAgent.retry", options, ["enabled", ...Object.keys(DEFAULTS)]);
  const enabled = checkBoolean("SessionAgent.retry.enabled", options.enabled ?? true);
  const number = (name: keyof RetryPlan): number =>
    checkInteger(`SessionAgent.retry.${name}`, options[name] ?? DEFAULTS[name], 0);
  return {
    maxRetries: enabled ? number("maxRetries") : 0,
    baseDelayMs: number("baseDelayMs"),
    maxDelayMs: number("maxDelayMs"),
    maxRetryAfterMs: number("maxRetryAfterMs"),
  };
}

export type RetryDecision =
  | { readonly action: "fail" }
  /** Shorten the conversation, then try again. */
  | { readonly action: "compact" }
  | { readonly action: "retry"; readonly delayMs: number };

export interface Failure {
  readonly error: ClassifiedError;
  /** The number of failures in a row, including this one. */
  readonly failures: number;
  /** Whether the conversation was already compacted because of an overflow in this turn. */
  readonly isCompacted: boolean;
  /** A number in [0, 1). */
  readonly random: number;
}

/** Decides what to do about a failed model call. */
export function decideRetry(policy: RetryPlan, failure: Failure): RetryDecision {
  const { error, failures, isCompacted, random } = failure;
  if (!error.retryable || failures > policy.maxRetries) return { action: "fail" };
  // The same prompt would be refused again, so it is compacted first; once only, because a second time would not help either.
  if (error.kind === "CONTEXT_OVERFLOW") return isCompacted ? { action: "fail" } : { action: "compact" };
  const { retryAfterMs = 0 } = error;
  if (retryAfterMs > policy.maxRetryAfterMs) return { action: "fail" };
  const { baseDelayMs: baseMs, maxDelayMs: maxMs } = policy;
  const delayMs = Math.max(backoffMs({ retry: failures, baseMs, maxMs, random }), retryAfterMs);
  return { action: "retry", delayMs };
}
