import {
  agentName,
  type BudgetWarning,
  type HookBase,
  HookEvent,
  type HookPayloads,
  type Hooks,
} from "@ravi/kernel";
import { bothHooks, guardedHooks } from "@ravi/kernel/loop";
import type { Attempt } from "./attempt.ts";

/**
 * Dispatches a hook event that only the engine knows of, to the hooks of the runtime and of the agent. All others come from the
 * context.
 */
export function dispatch<E extends HookEvent>(
  { ports, start }: Pick<Attempt, "ports" | "start">,
  event: E,
  more: Omit<HookPayloads[E], keyof HookBase>,
): void {
  const { agentId, runId, sessionId } = start.supervision;
  const { execId } = start;
  const hooks = hooksOf({ ports, start });
  if (!hooks.has(event)) return;
  const at = ports.clock.now();
  const base = { agentName: agentName(agentId), agentId, runId, execId, sessionId, at };
  void hooks.dispatch(event, { ...base, ...more } as HookPayloads[E]);
}

/** The hooks of the runtime and those of the agent. */
export function hooksOf({ ports, start }: Pick<Attempt, "ports" | "start">): Hooks {
  const own = start.agent.hooks;
  return bothHooks(ports.hooks, own && guardedHooks(own, ports.logger));
}

/** Reports thresholds that were passed by calls whose own settlement could not report them. */
export function reportWarnings(attempt: Attempt, warnings: readonly BudgetWarning[]): void {
  const { publisher, ports, start } = attempt;
  for (const warning of warnings) {
    const event = { type: "budgetWarning", ...warning } as const;
    const { agentId } = start.supervision;
    publisher.add({ n: null, at: ports.clock.now(), agentId, execId: start.execId, event });
    dispatch(attempt, HookEvent.BUDGET_WARNING, warning);
  }
}
