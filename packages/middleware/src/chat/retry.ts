import {
  type AbortSignalLike,
  type ChatContext,
  type ClassifiedError,
  checkFields,
  checkInteger,
  classifyError,
  ErrorKind,
  type Next,
} from "@ravi/kernel";
import { backoffMs, checkFunction, sleep, withTimers } from "@ravi/kernel/loop";
import { reportRetry } from "../common/report.ts";
import { checkNumber } from "../common/options.ts";
import type { ChatMiddleware } from "../types.ts";

export interface RetryOptions {
  /** How often a failed call is tried again. Default: 3. */
  readonly maxRetries?: number | undefined;
  /** The first wait is at most this long; the maximum doubles with each retry. Milliseconds; default: 1,000. */
  readonly baseMs?: number | undefined;
  /** The longest wait, unless the server asks for more. Milliseconds; default: 30,000. */
  readonly capMs?: number | undefined;
  /**
   * If the server asks for a longer wait (Retry-After), there is no retry and its error is thrown. Milliseconds; default:
   * 300,000.
   */
  readonly maxRetryAfterMs?: number | undefined;
  /** Returns a number in [0, 1). Default: `Math.random`. */
  readonly random?: (() => number) | undefined;
}

interface RetryPlan {
  readonly maxRetries: number;
  readonly baseMs: number;
  readonly capMs: number;
  readonly maxRetryAfterMs: number;
  readonly random: () => number;
}

/**
 * Retries a failed model call, with exponential backoff and full jitter; Retry-After is the minimum. It retries temporary
 * failures only. It never retries a termination, a cancellation or a budget refusal, nor a prompt that is too long (which needs
 * compaction), nor a call that a layer further out or its agent retries.
 */
export function retry(options: RetryOptions = {}): ChatMiddleware {
  const plan = planOf(options);
  return {
    level: "chat",
    name: "retry",
    async process(context, next) {
      // Otherwise four attempts of this layer for each of four further out would be sixteen.
      if (context.retried === true) return next();
      // That of this call: if an outer layer gives it up and tries again, the context has another one.
      const { signal } = context;
      const release = (): void => void (context.retried = false);
      context.retried = true;
      // A call that is given up may never end, and the next one must be retried as well.
      signal.addEventListener("abort", release, { once: true });
      try {
        await inAttempts(plan, context, next, signal);
      } finally {
        signal.removeEventListener("abort", release);
        if (!signal.aborted) release();
      }
    },
  };
}

async function inAttempts(
  plan: RetryPlan,
  context: ChatContext,
  next: Next,
  signal: AbortSignalLike,
): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      await (attempt === 0 ? next() : next.again());
      return;
    } catch (error) {
      const waitMs = waitAfter(classifyError(error), attempt, plan);
      if (waitMs === undefined || signal.aborted || isTooLong(context, waitMs)) throw error;
      reportRetry(context, attempt + 1, waitMs, error);
      await sleep(withTimers(context.clock, globalThis), waitMs, signal);
    }
  }
}

/** A wait beyond the deadline would only delay the error. */
function isTooLong({ meta: { deadline }, clock }: ChatContext, waitMs: number): boolean {
  return deadline !== null && clock.now() + waitMs > deadline;
}

/** Milliseconds before the next try; undefined if there is none. `attempt` is the number of failures before this one. */
function waitAfter(error: ClassifiedError, attempt: number, plan: RetryPlan): number | undefined {
  if (attempt >= plan.maxRetries || !error.retryable || error.kind === ErrorKind.CONTEXT_OVERFLOW)
    return undefined;
  const asked = error.retryAfterMs ?? 0;
  if (asked > plan.maxRetryAfterMs) return undefined;
  const { baseMs, capMs: maxMs } = plan;
  return Math.max(asked, backoffMs({ retry: attempt + 1, baseMs, maxMs, random: plan.random() }));
}

function planOf(options: RetryOptions): RetryPlan {
  checkFields("retry", options, ["maxRetries", "baseMs", "capMs", "maxRetryAfterMs", "random"]);
  checkFunction("retry.random", options.random);
  return {
    maxRetries: checkInteger("retry.maxRetries", options.maxRetries ?? 3, 0),
    baseMs: checkNumber("retry.baseMs", options.baseMs ?? 1_000, 0),
    capMs: checkNumber("retry.capMs", options.capMs ?? 30_000, 0),
    maxRetryAfterMs: checkNumber("retry.maxRetryAfterMs", options.maxRetryAfterMs ?? 300_000, 0),
    random: options.random ?? Math.random,
  };
}
