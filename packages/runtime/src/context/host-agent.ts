import type { ContextPorts, DurableEngine } from "@ravi/kernel";
import { Execution } from "./execution.ts";
import { HostedAgent } from "./host.ts";
import { ExecutionInbox } from "./inbox.ts";
import { planFor } from "./plan.ts";

/** Like `createRunContext`, for the engine in this process, which makes a promise of its own. */
export function hostAgent(engine: DurableEngine, ports: ContextPorts): HostedAgent {
  const exec = new Execution(engine, ports, planFor(engine.start.agent, ports));
  return new HostedAgent(exec, ExecutionInbox.of(exec));
}
