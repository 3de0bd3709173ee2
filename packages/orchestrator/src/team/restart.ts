import {
  errorToJSON,
  type HireLeaf,
  type HireOutcome,
  HookEvent,
  type RestartPolicy,
  type RunContext,
} from "@ravi/kernel";
import { hookBase, isFinalFailure, messageOf, restartDelay } from "@ravi/kernel/loop";

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
  const forget = (): void => {
    for (const { id } of attempts) asked(ctx, () => policy.reset(id));
  };
  forget();
  for (let due = attempts; ;) {
    let longest = 0;
    due = due.filter((attempt) => {
      const delayMs = delayBefore(ctx, policy, attempt);
      if (delayMs === undefined) return false;
      attempt.restarts++;
      longest = Math.max(longest, delayMs);
      reportRestart(ctx, attempt, delayMs);
      return true;
    });
    if (due.length === 0) break;
    await ctx.sleepUntil((await ctx.now()) + longest);
    const outcomes = await ctx.batch(due.map(({ leaf }) => leaf));
    due = due.filter((attempt, at) => isStarted(attempt, outcomes[at]));
  }
  forget();
}

/** How long to wait before the agent is hired again, in milliseconds; undefined if it is not. */
function delayBefore(
  ctx: RunContext,
  policy: RestartPolicy,
  { id, outcome, restarts }: Attempt,
): number | undefined {
  if (!isCrash(outcome)) return undefined;
  return asked(ctx, () => {
    // Only `true` counts as yes, whatever an untyped policy may return: a promise would be a yes for ever.
    const isWanted: unknown = policy.shouldRetry(id, outcome.error);
    if (isWanted !== true) return undefined;
    return restartDelay(policy, restarts + 1, "retryPolicy");
  });
}

/** If the policy throws, nobody is hired again; the orchestrator goes on with what it has paid for. */
function asked<T>(ctx: RunContext, ask: () => T): T | undefined {
  try {
    return ask();
  } catch (error) {
    ctx.emit({ type: "progress", name: "restartPolicyFailed", data: { message: messageOf(error) } });
    return undefined;
  }
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

/** Whether hiring again could help, however eager the policy is. */
function isCrash(outcome: HireOutcome): outcome is Extract<HireOutcome, { readonly error: unknown }> {
  return outcome.status === "failed" && !isFinalFailure(outcome.error);
}
