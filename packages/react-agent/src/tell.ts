import {
  agentName,
  type Clock,
  type DelegateTool,
  type HookBase,
  HookEvent,
  isDelegate,
  type RunContext,
  type Tool,
} from "@ravi/kernel";

// What only the loop can tell. LLM_* and TOOL_* are told by the context, RUN_* by the runtime.

export function tellStep(
  ctx: RunContext,
  clock: Clock,
  event: typeof HookEvent.STEP_START | typeof HookEvent.STEP_END,
  step: number,
): void {
  if (ctx.hooks.has(event)) void ctx.hooks.dispatch(event, { ...baseOf(ctx, clock), step });
}

/** The same tools, but a hand-off is told when it is about to be made. */
export function tellingHandoffs(
  ctx: RunContext,
  clock: Clock,
  tools: readonly (Tool | DelegateTool)[],
): readonly (Tool | DelegateTool)[] {
  return tools.map((tool) => (isDelegate(tool) ? tellingHandoff(ctx, clock, tool) : tool));
}

function tellingHandoff(ctx: RunContext, clock: Clock, tool: DelegateTool): DelegateTool {
  const { kind, name, description, input } = tool;
  return {
    kind,
    name,
    description,
    input,
    hire(args) {
      const leaf = tool.hire(args);
      const to = leaf.agent.id;
      const task = leaf.input;
      ctx.emit({ type: "handoff", to, task });
      if (ctx.hooks.has(HookEvent.HANDOFF))
        void ctx.hooks.dispatch(HookEvent.HANDOFF, { ...baseOf(ctx, clock), to, task });
      return leaf;
    },
  };
}

/** The time is the clock's and not `ctx.now()`: that is recorded, and a listener must not change what is recorded. */
function baseOf({ agentId, execId, supervision }: RunContext, clock: Clock): HookBase {
  const { runId, sessionId } = supervision;
  return { agentName: agentName(agentId), agentId, runId, execId, sessionId, at: clock.now() };
}
