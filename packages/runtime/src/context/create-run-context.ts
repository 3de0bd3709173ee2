import type { AgentRun, ContextPorts, DurableEngine } from "@ravi/kernel";
import { Execution } from "./execution.ts";
import { HostedAgent } from "./host.ts";
import { ExecutionInbox } from "./inbox.ts";
import { planFor } from "./plan.ts";

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

/** The same for an engine that makes a promise of its own. */
export function hostAgent(engine: DurableEngine, ports: ContextPorts): HostedAgent {
  const exec = new Execution(engine, ports, planFor(engine.start.agent, ports));
  return new HostedAgent(exec, ExecutionInbox.of(exec));
}
