import type { ExecutionBudget, ExecutionBudgetOptions, SpawnBudget, SpawnBudgetOptions } from "@ravi/kernel";
import type { Budget, Limits, TreeLimits } from "../limits.ts";

/** What limits are called in the small packages, and here. No spelling leads from one to the other. */
export const KERNEL_NAMES = Object.freeze({
  budget: {
    maxCostUsd: "usd",
    maxTokens: "tokens",
    maxTurns: "turns",
    maxToolCalls: "toolCalls",
    deadlineS: "seconds",
  },
  tree: { maxAgents: "agents", maxDepth: "depth", maxTotal: "total", allowPreempt: "preempt" },
});

/** Converts a budget to the option names of the kernel. */
export function toExecutionBudget(budget: Budget): ExecutionBudgetOptions {
  return {
    maxCostUsd: budget.usd,
    maxTokens: budget.tokens,
    maxTurns: budget.turns,
    maxToolCalls: budget.toolCalls,
    deadlineS: budget.seconds,
  };
}

/** Converts tree limits to the option names of the kernel. */
export function toSpawnBudget(tree: TreeLimits): SpawnBudgetOptions {
  return { maxAgents: tree.agents, maxDepth: tree.depth, maxTotal: tree.total, allowPreempt: tree.preempt };
}

/**
 * The inverse of `toSpawnBudget`, for an agent that was not made here. Its `null` may be a default that nobody wrote, so it
 * counts as "not given" and does not remove a default limit.
 */
export function fromSpawnBudget(budget: SpawnBudgetOptions): TreeLimits {
  const { maxAgents, maxDepth, maxTotal, allowPreempt } = budget;
  return {
    agents: maxAgents,
    depth: maxDepth ?? undefined,
    total: maxTotal ?? undefined,
    preempt: allowPreempt,
  };
}

/** All limits of the tree of a run. Here a `null` says that there is none. */
export function wholeTree({ maxAgents, maxDepth, maxTotal, allowPreempt }: SpawnBudget): Limits["tree"] {
  return { agents: maxAgents, depth: maxDepth, total: maxTotal, preempt: allowPreempt };
}

/** All limits of the spending of a run. */
export function wholeBudget(budget: ExecutionBudget): Limits["budget"] {
  const { maxCostUsd: usd, maxTokens: tokens, maxTurns: turns, maxToolCalls: toolCalls, deadlineS } = budget;
  return { usd, tokens, turns, toolCalls, seconds: deadlineS };
}
