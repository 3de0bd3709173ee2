import type { AgentDefaults, ExecutionBudgetOptions, RunLimits } from "@ravi/kernel";
import { isLedger } from "@ravi/kernel/loop";
import { checkBudget, checkTree } from "./limits/check.ts";
import { wholeBudget, wholeTree } from "./limits/kernel-names.ts";

/**
 * What a run, or one agent together with everyone it hires, may spend. `null` removes a limit; an absent field keeps its
 * default.
 */
export interface Budget {
  /** US dollars. Default of a run: 1. */
  readonly usd?: number | null | undefined;
  /** Input and output tokens together. Default of a run: 500,000. */
  readonly tokens?: number | null | undefined;
  /** Model calls; each attempt counts. Default of a run: 100. */
  readonly turns?: number | null | undefined;
  /** Default of a run: 500. */
  readonly toolCalls?: number | null | undefined;
  /**
   * A deadline, counted from the start of the run, also while it waits for a person or is suspended. Default of a run: 600, or
   * none with a journal.
   */
  readonly seconds?: number | null | undefined;
}

/** How large the tree of agents may grow. */
export interface TreeLimits {
  /** How many agents may work at the same time, including the root. Default: 8. */
  readonly agents?: number | undefined;
  /** How many levels of hiring there may be below the root, which is at depth 0. Default: 3. `null`: no limit. */
  readonly depth?: number | null | undefined;
  /** How many agents may ever be hired, including the root. Default: no limit. */
  readonly total?: number | null | undefined;
  /** Whether an agent of higher priority may take the slot of one of lower priority. Default: true. */
  readonly preempt?: boolean | undefined;
}

/** All limits of a run, under the names of the options. Null means no limit. */
export interface Limits {
  readonly budget: { readonly [K in keyof Required<Budget>]: number | null };
  readonly tree: {
    /** `Infinity` if nothing counts them, in a run that a `Runtime` without a headcount has started. */
    readonly agents: number;
    readonly depth: number | null;
    readonly total: number | null;
    readonly preempt: boolean;
  };
}

/**
 * The limits that apply if neither the call nor the agent sets them. With a journal there is no `seconds` limit, because such a
 * run may rest for days.
 */
export const DEFAULT_LIMITS: Limits = Object.freeze({
  budget: Object.freeze({ usd: 1, tokens: 500_000, turns: 100, toolCalls: 500, seconds: 600 }),
  tree: Object.freeze({ agents: 8, depth: 3, total: null, preempt: true }),
});

const NO_BUDGET: Limits["budget"] = Object.freeze({
  usd: null,
  tokens: null,
  turns: null,
  toolCalls: null,
  seconds: null,
});

/** Those of a run that a `Runtime` without a ledger and a headcount has started. */
const NO_LIMITS: Limits = Object.freeze({
  budget: NO_BUDGET,
  tree: Object.freeze({ agents: Infinity, depth: null, total: null, preempt: false }),
});

/** The limits that an agent declares for itself. */
export interface OwnLimits {
  readonly budget?: AgentDefaults["executionBudget"];
  readonly tree?: TreeLimits | undefined;
}

/**
 * The limits of a run. Each one is taken from the call, else from its agent, else from the defaults. `budget: null` removes
 * every limit of the budget. What an agent may spend by its own budget is enforced in any case, so a call can only lower that.
 */
export function limitsFor(
  given: {
    readonly budget?: Budget | null | undefined;
    readonly tree?: TreeLimits | undefined;
    readonly journal?: unknown;
  },
  own: OwnLimits,
): Limits {
  const tree = checkTree("tree", given.tree === undefined ? {} : given.tree);
  const { agents, depth, total, preempt } = DEFAULT_LIMITS.tree;
  return {
    budget: budgetFor(given, own),
    tree: {
      agents: tree.agents ?? own.tree?.agents ?? agents,
      depth: first(tree.depth, own.tree?.depth, depth),
      total: first(tree.total, own.tree?.total, total),
      preempt: tree.preempt ?? own.tree?.preempt ?? preempt,
    },
  };
}

function budgetFor({ budget, journal }: Parameters<typeof limitsFor>[0], own: OwnLimits): Limits["budget"] {
  if (budget === null) return NO_BUDGET;
  const asked = checkBudget("budget", budget === undefined ? NOTHING : budget);
  // A `null` of the agent means that it has no limit of its own; it does not remove a default limit.
  const { maxCostUsd, maxTokens, maxTurns, maxToolCalls, deadlineS } = literalBudget(own.budget);
  const { usd, tokens, turns, toolCalls, seconds } = DEFAULT_LIMITS.budget;
  return {
    usd: first(asked.usd, maxCostUsd ?? undefined, usd),
    tokens: first(asked.tokens, maxTokens ?? undefined, tokens),
    turns: first(asked.turns, maxTurns ?? undefined, turns),
    toolCalls: first(asked.toolCalls, maxToolCalls ?? undefined, toolCalls),
    seconds: first(asked.seconds, deadlineS ?? undefined, journal === undefined ? seconds : null),
  };
}

const NOTHING: Budget = Object.freeze({});

/** The first that is given. */
function first(
  asked: number | null | undefined,
  agents: number | null | undefined,
  otherwise: number | null,
): number | null {
  if (asked !== undefined) return asked;
  return agents === undefined ? otherwise : agents;
}

/** Whether neither the call nor the agent has set a limit in dollars. */
export function isDefaultUsd(
  given: { readonly budget?: Budget | null | undefined },
  own: OwnLimits,
): boolean {
  if (given.budget === null || given.budget?.usd !== undefined) return false;
  const { maxCostUsd = null } = literalBudget(own.budget);
  return maxCostUsd === null;
}

/** The limits that a run had, as its result reports them; if the result does not, those that were asked for. */
export function limitsOf(reported: RunLimits | undefined, asked: Limits | undefined): Limits {
  const { executionBudget = null, spawnBudget = null } = reported ?? {};
  const fallback = asked ?? (reported === undefined ? DEFAULT_LIMITS : NO_LIMITS);
  return {
    budget: executionBudget === null ? fallback.budget : wholeBudget(executionBudget),
    tree: spawnBudget === null ? fallback.tree : wholeTree(spawnBudget),
  };
}

/** A ledger of the user's own enforces its limits itself, so there are none to read from it. */
function literalBudget(budget: AgentDefaults["executionBudget"]): ExecutionBudgetOptions {
  return budget === undefined || isLedger(budget) ? {} : budget;
}
