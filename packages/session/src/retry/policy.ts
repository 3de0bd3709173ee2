import { checkBoolean, checkFields, checkInteger, type ClassifiedError } from "@ravi/kernel";

export interface RetryOptions {
  /** True. */
  readonly enabled?: boolean | undefined;
  /** How often in a row a failed model call is tried again: 3. */
  readonly maxRetries?: number | undefined;
  /** The longest first wait; it doubles with each retry: 1,000. */
  readonly baseDelayMs?: number | undefined;
  /** The longest wait that is not the server's own wish: 60,000. */
  readonly maxDelayMs?: number | undefined;
  /** A server that asks for more patience than this is not waited for: 600,000. */
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
  /** After making the conversation shorter. */
  | { readonly action: "compact" }
  | { readonly action: "retry"; readonly delayMs: number };

export interface Failure {
  readonly error: ClassifiedError;
  /** How many failures in a row there are with this one. */
  readonly failures: number;
  /** The conversation was compacted for an overflow in this turn already. */
  readonly isCompacted: boolean;
  /** A number in [0, 1). */
  readonly random: number;
}

/** What to do about a failed model call. Full jitter, so that a crowd that was refused together does not return together. */
export function decideRetry(policy: RetryPlan, failure: Failure): RetryDecision {
  const { error, failures, isCompacted, random } = failure;
  if (!error.retryable || failures > policy.maxRetries) return { action: "fail" };
  // The same prompt would be refused again. Once: what does not help the first time does not help the second.
  if (error.kind === "CONTEXT_OVERFLOW") return isCompacted ? { action: "fail" } : { action: "compact" };
  const { retryAfterMs = 0 } = error;
  if (retryAfterMs > policy.maxRetryAfterMs) return { action: "fail" };
  const longest = Math.min(policy.baseDelayMs * 2 ** (failures - 1), policy.maxDelayMs);
  return { action: "retry", delayMs: Math.max(Math.floor(random * longest), retryAfterMs) };
}
