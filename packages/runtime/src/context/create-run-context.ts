import type { AgentRun, ContextPorts, DurableEngine } from "@ravi/kernel";
import { Execution } from "./execution.ts";
import { host } from "./host.ts";
import { ExecutionInbox } from "./inbox.ts";
import { planFor } from "./plan.ts";

/**
 * The one `RunContext`, on any engine: the rules (lanes, admits, layers, money, hooks, hires, sizes, deadlines) are in here, and
 * how things are recorded and carried is the engine's.
 */
export function createRunContext(engine: DurableEngine, ports: ContextPorts): AgentRun {
  const context = new Execution(engine, ports, planFor(engine.start.agent, ports));
  const inbox = ExecutionInbox.of(context);
  return { agentId: context.agentId, context, inbox, run: () => host(context, inbox) };
}
