import { agentName, type HookBase, type RunContext } from "@ravi/kernel";

/** What every payload of a hook says. */
export function hookBase(ctx: RunContext): HookBase {
  const { agentId, execId, supervision, meta } = ctx;
  const { runId, sessionId } = supervision;
  return { agentName: agentName(agentId), agentId, runId, execId, sessionId, at: meta.now() };
}
