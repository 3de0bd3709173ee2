import type { AgentRun, ContextPorts, DurableEngine } from "@ravi/kernel";
import { hostAgent } from "./context/host-agent.ts";

/**
 * Makes the context of one agent, on any engine. The rules (lanes, admits, layers, money, hooks, hires, sizes, deadlines) are enforced
 * here; how things are recorded and carried is up to the engine.
 */
export function createRunContext(engine: DurableEngine, ports: ContextPorts): AgentRun {
  const hosted = hostAgent(engine, ports);
  const { exec: context, inbox } = hosted;
  return {
    agentId: context.agentId,
    context,
    inbox,
    run: () => new Promise((resolve, reject) => hosted.start(resolve, reject)),
  };
}
