import { bareContext } from "@ravi/kernel/loop";
import { benchAgent } from "../bench-agent.ts";
import type { Plan } from "../fake.ts";

/** The agent on the kernel's bare context. */
export function subject(plan: Plan): () => Promise<string> {
  const agent = benchAgent(plan);
  return async () => {
    const ctx = bareContext();
    return (await agent.run(ctx, ctx.inbox("go"))).output;
  };
}
