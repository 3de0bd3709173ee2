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
  const hint = "all agents hired in this run count, including finished ones; raise maxTotal";
  return new BudgetExhaustedError({ dimension: "totalAgents", used, limit, scope, hint });
}

export function denyPausedParent(
  scope: AgentId,
  parent: AgentId,
  held: number,
  limit: number,
): BudgetExhaustedError {
  const hint = `${parent} is paused and cannot hire; await whenResumed("${parent}") first`;
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
      ? "only HIGH and CRITICAL agents may take the slot of another"
      : "no agent with a lower priority holds a slot that it may take";
  const hint = `${why}; wait for a release, pass onFull: "queue", or raise maxAgents`;
  return new BudgetExhaustedError({ dimension: "agents", used: held, limit: budget.maxAgents, scope, hint });
}

export function denyDeadlock(scope: AgentId, held: number, limit: number): BudgetExhaustedError {
  const why =
    "a queued hire would never start: every agent that holds a slot would be waiting for one that has none";
  const hint = `${why}; let the parent do the work itself, or raise maxAgents`;
  return new BudgetExhaustedError({ dimension: "agents", used: held, limit, scope, hint });
}

export function denyDuplicate(id: AgentId, state: string): InvalidValueError {
  const expected = `a unique id: this agent is already ${state === "holding" ? "hired" : state}; give each hired instance a key (AgentId("${id}", 2)), or release it first`;
  return new InvalidValueError({ field: "agentId", value: id, expected });
}
