import type { Agent } from "@ravi/kernel";
import { bareContext } from "@ravi/kernel/loop";
import type { Run } from "./subject.ts";

/** Runs an agent on the kernel's bare context, so that only the agent's loop is measured. */
export function onBareContext(agent: Agent): Run {
  return async () => {
    const ctx = bareContext();
    return (await agent.run(ctx, ctx.inbox("go"))).output;
  };
}
