import { agentName, type BudgetWarning, HookEvent } from "@ravi/kernel";
import type { RestateEngine } from "./engine.ts";

/** Limits that are nearly used up. The root finds out when it settles, so they are told with the answer after that. */
export function reportWarnings(engine: RestateEngine): (warnings: readonly BudgetWarning[]) => void {
  const { ports, start } = engine;
  const { agentId, runId, sessionId } = start.supervision;
  return (warnings) => {
    for (const warning of warnings) {
      engine.publish({ type: "budgetWarning", ...warning });
      if (!ports.hooks.has(HookEvent.BUDGET_WARNING)) continue;
      const at = ports.clock.now();
      const base = { agentName: agentName(agentId), agentId, runId, execId: start.execId, sessionId, at };
      void ports.hooks.dispatch(HookEvent.BUDGET_WARNING, { ...base, ...warning });
    }
  };
}
