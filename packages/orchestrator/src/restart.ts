import {
  errorToJSON,
  type HireLeaf,
  type HireOutcome,
  HookEvent,
  isCancellation,
  isRaviError,
  type RestartPolicy,
  type RunContext,
} from "@ravi/kernel";
import { hookBase } from "@ravi/kernel/loop";

/** One hand-off: the hire, and its latest outcome. */
export interface Attempt {
  /** Identifies the hand-off for the policy; the same for every restart. */
  readonly id: string;
  readonly leaf: HireLeaf;
  outcome: HireOutcome;
  restarts: number;
}

/**
 * Hires crashed agents again as often as the policy says; those of one turn in one batch. The decisions depend on recorded
 * outcomes only, so a replay decides the same. The policy is reset first, so that nothing from an earlier attempt counts.
 */
export async function restartCrashed(
  ctx: RunContext,
  policy: RestartPolicy,
  attempts: readonly Attempt[],
): Promise<void> {
  for (const { id } of attempts) policy.reset(id);
  for (let due = attempts; ;) {
    due = due.filter(({ id, outcome }) => isCrash(outcome) && policy.shouldRetry(id, outcome.error));
    if (due.length === 0) break;
    let longest = 0;
    for (const attempt of due) {
      const delayMs = policy.delayMs(++attempt.restarts);
      longest = Math.max(longest, delayMs);
      reportRestart(ctx, attempt, delayMs);
    }
    await ctx.sleepUntil((await ctx.now()) + longest);
    const outcomes = await ctx.batch(due.map(({ leaf }) => leaf));
    due = due.filter((attempt, at) => isStarted(attempt, outcomes[at]));
  }
  for (const { id } of attempts) policy.reset(id);
}

/** Whether the agent was started again. If the hire was denied, its outcome stays the crash, and it is not tried again. */
function isStarted(attempt: Attempt, outcome: HireOutcome | undefined): boolean {
  if (outcome === undefined || outcome.status === "denied") {
    attempt.restarts--;
    return false;
  }
  attempt.outcome = outcome;
  return true;
}

function reportRestart(ctx: RunContext, { leaf, outcome, restarts }: Attempt, delayMs: number): void {
  if (!("error" in outcome)) return;
  const { id: to } = leaf.agent;
  const error = errorToJSON(outcome.error);
  ctx.emit({
    type: "progress",
    name: "restart",
    data: { to, attempt: restarts, delayMs, error: error.message },
  });
  if (ctx.hooks.has(HookEvent.RETRY))
    void ctx.hooks.dispatch(HookEvent.RETRY, { ...hookBase(ctx), attempt: restarts, delayMs, error });
}

/**
 * Whether hiring again could help. Decisions (a cancellation, a budget) and errors that a layer below has already retried are not
 * repeated.
 */
function isCrash(outcome: HireOutcome): outcome is Extract<HireOutcome, { readonly error: unknown }> {
  if (outcome.status !== "failed") return false;
  const { error } = outcome;
  return !isCancellation(error) && !FINAL.some((code) => isRaviError(error, code));
}

const FINAL = [
  "PROVIDER_ERROR",
  // A configuration mistake, such as a missing key, is the same next time.
  "INVALID_VALUE",
  "BUDGET_EXHAUSTED",
  "MIDDLEWARE_TERMINATION",
  "PAUSED",
  "SUSPENDED",
  "NEEDS_DECISION",
  "NON_DETERMINISM",
  "JOURNAL_CORRUPT",
  "JOURNAL_FAILED",
  "JOURNAL_LOCKED",
] as const;
