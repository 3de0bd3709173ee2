import type { HireLeaf } from "../../agent/leaves.ts";
import type { RunContext } from "../../agent/run-context.ts";
import type { Clock } from "../../core/clock.ts";
import { agentName } from "../../core/ids.ts";
import { type HookBase, HookEvent } from "../../ports/hooks.ts";
import { tellOwn } from "../both-hooks.ts";

// The hook events of the loop itself. The context dispatches LLM_* and TOOL_*, the runtime RUN_*.

/** Dispatches a step event. Returns its time, if anybody listens, because a step begins when the one before it ends. */
export function tellStep(
  ctx: RunContext,
  event: typeof HookEvent.STEP_START | typeof HookEvent.STEP_END,
  step: number,
  clock?: Clock | undefined,
  known?: number | undefined,
): number | undefined {
  if (!ctx.hooks.has(event)) return undefined;
  // Written out, because a spread takes longer than all the rest.
  const { agentId, execId } = ctx;
  const { runId, sessionId } = ctx.supervision;
  const at = known ?? timeOf(ctx, clock);
  tellOwn(ctx.hooks, event, { agentName: agentName(agentId), agentId, runId, execId, sessionId, at, step });
  return at;
}

/** Reports that an agent is about to be hired. */
export function tellHandoff(
  ctx: RunContext,
  { agent, input: task }: Pick<HireLeaf, "agent" | "input">,
  clock?: Clock | undefined,
): void {
  const to = agent.id;
  ctx.emit({ type: "handoff", to, task });
  if (ctx.hooks.has(HookEvent.HANDOFF))
    void ctx.hooks.dispatch(HookEvent.HANDOFF, { ...hookBase(ctx, clock), to, task });
}

/**
 * The fields that every hook payload has. The time is the run's clock and not `ctx.now()`, which is recorded: a listener must not
 * change what is recorded.
 */
export function hookBase(ctx: RunContext, clock?: Clock | undefined): HookBase {
  const { agentId, execId } = ctx;
  const { runId, sessionId } = ctx.supervision;
  return { agentName: agentName(agentId), agentId, runId, execId, sessionId, at: timeOf(ctx, clock) };
}

function timeOf(ctx: RunContext, clock: Clock | undefined): number {
  return clock === undefined ? ctx.meta.now() : clock.now();
}
