import {
  type AgentId,
  BudgetExhaustedError,
  InvalidValueError,
  Priority,
  type SpawnBudget,
} from "@ravi/kernel";

/** The errors of a refused hire. All limits are those of the whole tree, so the scope is always its root. */

export function denyDepth(scope: AgentId, id: AgentId, depth: number, limit: number): BudgetExhaustedError {
  const hint = `${id} would be at depth ${depth}; raise maxDepth, or let its parent do the work itself`;
  return new BudgetExhaustedError({ dimension: "depth", used: depth - 1, limit, scope, hint });
}

export function denyTotal(scope: AgentId, used: number, limit: number): BudgetExhaustedError {
  const hint = "that many were hired in this run, finished ones included; raise maxTotal";
  return new BudgetExhaustedError({ dimension: "totalAgents", used, limit, scope, hint });
}

export function denyPausedParent(
  scope: AgentId,
  parent: AgentId,
  held: number,
  limit: number,
): BudgetExhaustedError {
  const hint = `${parent} is paused and hires nobody; await whenResumed("${parent}") first`;
  return new BudgetExhaustedError({ dimension: "agents", used: held, limit, scope, hint });
}

export function denyFull(
  scope: AgentId,
  held: number,
  budget: SpawnBudget,
  priority: Priority,
): BudgetExhaustedError {
  const why = !budget.allowPreempt
    ? "allowPreempt is false"
    : priority <= Priority.NORMAL
      ? "only HIGH and CRITICAL may take another's slot"
      : "nobody with a lower priority holds a slot that it may take";
  const hint = `${why}; wait for a release, ask with onFull: "queue", or raise maxAgents`;
  return new BudgetExhaustedError({ dimension: "agents", used: held, limit: budget.maxAgents, scope, hint });
}

export function denyEndless(scope: AgentId, held: number, limit: number): BudgetExhaustedError {
  const why = "queueing it could never end: every holder would await somebody who waits for a slot";
  const hint = `${why}; let the parent do the work itself, or raise maxAgents`;
  return new BudgetExhaustedError({ dimension: "agents", used: held, limit, scope, hint });
}

export function denyTwice(id: AgentId, state: string): InvalidValueError {
  const expected = `an id of its own: that agent is ${state}; give each hired instance a key (AgentId("${id}", 2)) or release it first`;
  return new InvalidValueError({ field: "agentId", value: id, expected });
}
