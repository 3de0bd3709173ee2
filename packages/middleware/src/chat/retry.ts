import {
  type ChatContext,
  type ClassifiedError,
  checkFields,
  checkInteger,
  classifyError,
  ErrorKind,
} from "@ravi/kernel";
import { tellRetry } from "../guard.ts";
import { checkFunction, checkNumber } from "../options.ts";
import { sleep } from "../timer.ts";
import type { ChatMiddleware } from "../types.ts";

export interface RetryOptions {
  /** How often a failed call is tried again. Default 3. */
  readonly maxRetries?: number | undefined;
  /** The first wait is up to this long, each further one up to twice as long. Default 1,000. */
  readonly baseMs?: number | undefined;
  /** No wait that we choose ourselves is longer. Default 30,000. */
  readonly capMs?: number | undefined;
  /** A server that asks for more than this (Retry-After) is not waited for: its error is thrown. Default 300,000. */
  readonly maxRetryAfterMs?: number | undefined;
  /** A number in [0, 1). Default `Math.random`. */
  readonly random?: (() => number) | undefined;
}

/** What is decided after a failure: wait so long, or give up. */
type RetryDecision = { readonly waitMs: number } | { readonly stop: true };

interface RetryPlan {
  readonly maxRetries: number;
  readonly baseMs: number;
  readonly capMs: number;
  readonly maxRetryAfterMs: number;
  readonly random: () => number;
}

/**
 * Tries a failed model call again: full jitter, Retry-After as the floor. It repeats what a provider calls temporary, and
 * never a stop: no termination, cancellation or budget refusal, and no prompt that is too long (that needs compaction).
 */
export function retry(options: RetryOptions = {}): ChatMiddleware {
  const plan = planOf(options);
  return {
    level: "chat",
    name: "retry",
    async process(context, next) {
      for (let attempt = 0; ; attempt++) {
        try {
          await (attempt === 0 ? next() : next.again());
          return;
        } catch (error) {
          if (!(await waitToRetry(context, plan, attempt, error))) throw error;
        }
      }
    },
  };
}

/** Whether to try once more, having waited. */
async function waitToRetry(
  context: ChatContext,
  plan: RetryPlan,
  attempt: number,
  error: unknown,
): Promise<boolean> {
  if (context.signal.aborted) return false;
  const decision = decideRetry(classifyError(error), attempt, plan);
  if ("stop" in decision) return false;
  const { waitMs } = decision;
  const { deadline } = context.meta;
  // A wait that ends after the deadline only delays the bad news.
  if (deadline !== null && context.clock.now() + waitMs > deadline) return false;
  tellRetry(context, attempt + 1, waitMs, error);
  await sleep(context.clock, waitMs, context.signal);
  return true;
}

/** `attempt` counts the failures before this one. */
function decideRetry(error: ClassifiedError, attempt: number, plan: RetryPlan): RetryDecision {
  if (attempt >= plan.maxRetries || !error.retryable || error.kind === ErrorKind.CONTEXT_OVERFLOW)
    return { stop: true };
  const asked = error.retryAfterMs ?? 0;
  if (asked > plan.maxRetryAfterMs) return { stop: true };
  const ceiling = Math.min(plan.capMs, plan.baseMs * 2 ** attempt);
  return { waitMs: Math.max(asked, Math.floor(plan.random() * ceiling)) };
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
