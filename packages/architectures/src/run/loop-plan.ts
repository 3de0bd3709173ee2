import { agentName, type Dependencies, type LLMClient } from "@ravi/kernel";
import { type LoopPlan, planLoop } from "@ravi/kernel/loop";

interface Known {
  readonly model: LLMClient;
  readonly maxTurns: number;
  readonly plan: LoopPlan;
}

/** Cached by the list of tools, which an agent creates once: so their specs and digest are also computed only once. */
const plans = new WeakMap<Dependencies["tools"], Known>();

export function loopPlan(deps: Dependencies, instructions: string): LoopPlan {
  const { tools, model, maxTurns, runtime } = deps;
  let known = plans.get(tools);
  if (known === undefined || known.model !== model || known.maxTurns !== maxTurns) {
    const name = agentName(runtime.agentId);
    known = { model, maxTurns, plan: planLoop("StrategyAgent", { name, model, tools, maxSteps: maxTurns }) };
    plans.set(tools, known);
  }
  return instructions === "" ? known.plan : { ...known.plan, instructions };
}
