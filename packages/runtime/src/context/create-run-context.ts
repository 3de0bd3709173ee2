import type { AgentRun, ContextPorts, DurableEngine } from "@ravi/kernel";
import { Execution } from "./execution.ts";
import { host } from "./host.ts";
import { ExecutionInbox } from "./inbox.ts";
import { planFor } from "./plan.ts";

/**
 * Makes the context of one agent, on any engine. The rules (lanes, admits, layers, money, hooks, hires, sizes, deadlines) are enforced
 * here; how things are recorded and carried is up to the engine.
 */
export function createRunContext(engine: DurableEngine, ports: ContextPorts): AgentRun {
  const context = new Execution(engine, ports, planFor(engine.start.agent, ports));
  const inbox = ExecutionInbox.of(context);
  return { agentId: context.agentId, context, inbox, run: () => host(context, inbox) };
}
