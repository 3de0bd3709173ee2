import type { HireLeaf } from "../../agent/leaves.ts";
import type { RunContext } from "../../agent/run-context.ts";
import type { Clock } from "../../core/clock.ts";
import { agentName } from "../../core/ids.ts";
import { type HookBase, HookEvent } from "../../ports/hooks.ts";
import { tellOwn } from "../both-hooks.ts";

// What only a loop can tell. LLM_* and TOOL_* are told by the context, RUN_* by the runtime.

/** Gives the time that it told, where it told one: a step begins when the one before it ends. */
export function tellStep(
  ctx: RunContext,
  event: typeof HookEvent.STEP_START | typeof HookEvent.STEP_END,
  step: number,
  clock?: Clock | undefined,
  known?: number | undefined,
): number | undefined {
  if (!ctx.hooks.has(event)) return undefined;
  // Written out: a spread takes longer than all the rest of telling.
  const { agentId, execId } = ctx;
  const { runId, sessionId } = ctx.supervision;
  const at = known ?? timeOf(ctx, clock);
  tellOwn(ctx.hooks, event, { agentName: agentName(agentId), agentId, runId, execId, sessionId, at, step });
  return at;
}

/** Somebody is about to be hired. */
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
 * What every payload says, for whoever dispatches an event of its own. The time is the run's and not `ctx.now()`: that is
 * recorded, and a listener must not change what is recorded.
 */
export function hookBase(ctx: RunContext, clock?: Clock | undefined): HookBase {
  const { agentId, execId } = ctx;
  const { runId, sessionId } = ctx.supervision;
  return { agentName: agentName(agentId), agentId, runId, execId, sessionId, at: timeOf(ctx, clock) };
}

function timeOf(ctx: RunContext, clock: Clock | undefined): number {
  return clock === undefined ? ctx.meta.now() : clock.now();
}
