import type { HireLeaf, HireOutcome } from "../agent/leaves.ts";
import type { RunContext } from "../agent/run-context.ts";
import { isRaviError } from "../errors/is.ts";
import type { CancellationToken } from "../run/cancellation.ts";
import { textOf } from "../model/messages.ts";
import { HistoryRetention } from "../policy/scales.ts";
import { asRavi } from "./bare/bare-child.ts";
import { bareInbox } from "./bare-inbox.ts";
import { OwnLane } from "./bare/own-lane.ts";
import { hasLayers } from "./pipeline-levels.ts";
import { readResult } from "./read-result.ts";
import { isStop } from "./tool-call.ts";

/** So many agents may work inside of each other in one slot. Those that hire each other in a circle would never end. */
const MAX_NESTED = 50;

/** How many work inside of each other now, by the token of the execution whose slot it is: all contexts around it share that. */
const nested = new WeakMap<CancellationToken, number>();

/**
 * Hires all of them, for flows and strategies whose branches must all be done: as many at once as there are slots, and the rest
 * afterwards. If no slot is free even then, an agent runs in the caller's own slot, since the caller only waits meanwhile, unless the
 * context does not lend it.
 */
export async function hireAll<T>(
  ctx: RunContext,
  leaves: readonly HireLeaf<T>[],
): Promise<readonly HireOutcome<T>[]> {
  const outcomes: HireOutcome<T>[] = [];
  let waiting = leaves.map((leaf, at) => ({ leaf, at }));
  // A retry has only as many hires as found a slot before, because each denied hire is recorded.
  for (let size = waiting.length; waiting.length > 0;) {
    const round = waiting.slice(0, size);
    const results = await hireAtOnce(
      ctx,
      round.map(({ leaf }) => leaf),
    );
    for (const [n, { leaf, at }] of round.entries()) {
      const outcome = results[n];
      if (outcome === undefined)
        throw new TypeError(`the context has no outcome for the hire of ${leaf.agent.id}`);
      outcomes[at] = outcome;
    }
    const isDenied = ({ at }: { readonly at: number }): boolean => hasNoSeat(outcomes[at]);
    const denied = round.filter(isDenied);
    const startedCount = round.length - denied.length;
    waiting = [...denied, ...waiting.slice(size)];
    size = denied.length === 0 ? round.length * 2 : Math.max(1, startedCount);
    if (startedCount > 0) continue;
    const next = lendsSlot(ctx) ? waiting.find(({ leaf }) => canRunInOwnSlot(leaf)) : undefined;
    if (next !== undefined) outcomes[next.at] = await runInOwnSlot(ctx, next.leaf);
    waiting = next === undefined ? [] : waiting.filter((one) => one !== next);
  }
  return outcomes;
}

/** When the time is up, nobody can be hired any more. That is an outcome, so that those of the others are not lost. */
async function hireAtOnce<T>(
  ctx: RunContext,
  leaves: readonly HireLeaf<T>[],
): Promise<readonly HireOutcome<T>[]> {
  try {
    return await ctx.batch(leaves);
  } catch (error) {
    if (!isRaviError(error, "DEADLINE_EXCEEDED")) throw error;
    return leaves.map(() => ({ status: "cancelled", error }));
  }
}

/** Whether the hire was denied because all slots are taken. */
export function hasNoSeat(outcome: HireOutcome | undefined): boolean {
  return (
    outcome?.status === "denied" &&
    isRaviError(outcome.error, "BUDGET_EXHAUSTED") &&
    outcome.error.dimension === "agents"
  );
}

function lendsSlot({ lendsSlot: isLent, meta }: RunContext): boolean {
  return isLent !== false && (nested.get(meta.cancellation) ?? 0) < MAX_NESTED;
}

/**
 * Middleware, a budget, a time limit and a history that is kept only work around a child of its own. In the caller's slot they would be
 * dropped silently.
 */
function canRunInOwnSlot({ agent, executionBudget, timeoutS, retention }: HireLeaf): boolean {
  const isLimited = executionBudget !== undefined || agent.defaults?.executionBudget !== undefined;
  const isKept = retention === HistoryRetention.PERMANENT;
  return !hasLayers(agent.pipelines) && !isLimited && timeoutS === undefined && !isKept;
}

/** An error that stops the run is thrown on, because here it is the caller's own, unless it is about a call of the agent. */
async function runInOwnSlot<T>(
  ctx: RunContext,
  { agent, input, attachments }: HireLeaf<T>,
): Promise<HireOutcome<T>> {
  const { cancellation } = ctx.meta;
  const inbox = bareInbox(input, { attachments, cancellation });
  const lane = new OwnLane(ctx, agent.hooks);
  ctx.emit({ type: "progress", name: "ownSeat", data: { agent: agent.id } });
  const around = nested.get(cancellation) ?? 0;
  nested.set(cancellation, around + 1);
  try {
    const result = readResult(agent.id, await agent.run(lane.ctx, inbox));
    return { status: result.status, result, usage: lane.usage };
  } catch (thrown) {
    // When it is cancelled, models and tools throw errors of all kinds. What counts is why.
    const error = cancellation.error ?? thrown;
    const { usage } = lane;
    if (isRaviError(error, "DEADLINE_EXCEEDED")) return { status: "cancelled", error, usage };
    if (isRaviError(error, "BUDGET_EXHAUSTED")) {
      const last = lane.messages.findLast((message) => message.role === "assistant");
      const output = last === undefined ? "" : textOf(last);
      const { dimension, used, limit, scope, hint } = error;
      const stoppedBy = { dimension, used, limit, scope, ...(hint !== undefined && { hint }) };
      return {
        status: "partial",
        result: { status: "partial", output, stopReason: "budget" },
        usage,
        stoppedBy,
      };
    }
    if (isStop(error) && !isOfItsCall(error)) throw error;
    return { status: "failed", error: asRavi(error, agent), usage };
  } finally {
    nested.set(cancellation, around);
  }
}

/** A guardrail's stop, and a decision against a call, end who made the call, as they would in a slot of its own; the others go on. */
function isOfItsCall(error: unknown): boolean {
  const isDecided = isRaviError(error, "NEEDS_DECISION") && error.pending.length === 0;
  return isDecided || isRaviError(error, "MIDDLEWARE_TERMINATION");
}
