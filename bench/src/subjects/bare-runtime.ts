import { Runtime } from "@ravi/runtime";
import { benchAgent } from "../bench-agent.ts";
import type { Plan } from "../fake.ts";

/** The agent under a runtime that was given nothing. */
export function subject(plan: Plan): () => Promise<string> {
  const agent = benchAgent(plan);
  const runtime = new Runtime();
  return async () => (await runtime.run(agent, "go").result).output;
}
