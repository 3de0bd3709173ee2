import {
  type AgentDefaults,
  checkAmountOrNull,
  checkBoolean,
  checkFields,
  checkInteger,
  checkIntegerOrNull,
  type ExecutionBudgetOptions,
  InvalidValueError,
  type RunLimits,
  type SpawnBudget,
  type SpawnBudgetOptions,
} from "@ravi/kernel";

/** What a run, or one agent with all whom it hires, may spend. `null` takes a limit off. */
export interface Budget {
  /** Dollars. */
  readonly usd?: number | null | undefined;
  /** Input and output together. */
  readonly tokens?: number | null | undefined;
  /** Model calls, every attempt at one included. */
  readonly turns?: number | null | undefined;
  readonly toolCalls?: number | null | undefined;
  /** From the start of the run, whether it works, waits for a person or is suspended. */
  readonly seconds?: number | null | undefined;
}

/** How large the tree may grow. */
export interface TreeLimits {
  /** How many agents may be at work at once; the root is one of them. */
  readonly agents?: number | undefined;
  /** How deep; the root is at 0. */
  readonly depth?: number | null | undefined;
  /** How many may ever be hired, the root included. */
  readonly total?: number | null | undefined;
  /** Whether an urgent agent may take the place of a lesser one. */
  readonly preempt?: boolean | undefined;
}

/** Every limit, in the words of the options; null where there is none. */
export interface Limits {
  readonly budget: { readonly [K in keyof Required<Budget>]: number | null };
  readonly tree: {
    readonly agents: number;
    readonly depth: number | null;
    readonly total: number | null;
    readonly preempt: boolean;
  };
}

/** What holds where neither the call nor the agent says anything. With a journal a run may rest for days: then no `seconds`. */
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

/** What an agent says of itself. */
export interface OwnLimits {
  readonly budget?: AgentDefaults["executionBudget"];
  readonly tree?: TreeLimits | undefined;
}

/** The limits of a run: what the call says, else what its agent says, else the defaults. `budget: null` is no limit at all. */
export function limitsFor(
  given: {
    readonly budget?: Budget | null | undefined;
    readonly tree?: TreeLimits | undefined;
    readonly journal?: unknown;
  },
  own: OwnLimits,
): Limits {
  const tree = checkTree("tree", given.tree === undefined ? {} : given.tree);
  return {
    budget:
      given.budget === null
        ? NO_BUDGET
        : {
            ...DEFAULT_LIMITS.budget,
            ...(given.journal !== undefined && { seconds: null }),
            ...fromExecutionBudget(literalBudget(own.budget)),
            ...checkBudget("budget", given.budget === undefined ? {} : given.budget),
          },
    tree: {
      agents: tree.agents ?? own.tree?.agents ?? DEFAULT_LIMITS.tree.agents,
      depth: first(tree.depth, own.tree?.depth, DEFAULT_LIMITS.tree.depth),
      total: first(tree.total, own.tree?.total, DEFAULT_LIMITS.tree.total),
      preempt: tree.preempt ?? own.tree?.preempt ?? DEFAULT_LIMITS.tree.preempt,
    },
  };
}

/** Whether nobody has said a word about dollars, neither the call nor the agent. */
export function isDefaultUsd(
  given: { readonly budget?: Budget | null | undefined },
  own: OwnLimits,
): boolean {
  if (given.budget === null || given.budget?.usd !== undefined) return false;
  return fromExecutionBudget(literalBudget(own.budget)).usd === undefined;
}

/** What was given, checked under the names that the user wrote. */
export function checkBudget(field: string, budget: Budget): Partial<Limits["budget"]> {
  checkFields(field, budget, ["usd", "tokens", "turns", "toolCalls", "seconds"]);
  const { usd, tokens, turns, toolCalls, seconds } = budget;
  return {
    ...(usd !== undefined && { usd: checkDollars(`${field}.usd`, usd) }),
    ...(tokens !== undefined && { tokens: checkIntegerOrNull(`${field}.tokens`, tokens, 0) }),
    ...(turns !== undefined && { turns: checkIntegerOrNull(`${field}.turns`, turns, 0) }),
    ...(toolCalls !== undefined && { toolCalls: checkIntegerOrNull(`${field}.toolCalls`, toolCalls, 0) }),
    ...(seconds !== undefined && { seconds: checkAmountOrNull(`${field}.seconds`, seconds, "positive") }),
  };
}

/** A ledger counts whole billionths. It would refuse what is more, but under the name of another package. */
const MOST_DOLLARS = Math.floor(Number.MAX_SAFE_INTEGER / 1e9);

function checkDollars(field: string, value: number | null): number | null {
  const usd = checkAmountOrNull(field, value, "not negative");
  if (usd === null || usd <= MOST_DOLLARS) return usd;
  throw new InvalidValueError({ field, value, expected: `at most ${MOST_DOLLARS}, or null for no limit` });
}

export function checkTree(field: string, tree: TreeLimits): TreeLimits {
  checkFields(field, tree, ["agents", "depth", "total", "preempt"]);
  const { agents, depth, total, preempt } = tree;
  if (agents !== undefined) checkInteger(`${field}.agents`, agents, 1);
  if (depth !== undefined) checkIntegerOrNull(`${field}.depth`, depth, 0);
  if (total !== undefined) checkIntegerOrNull(`${field}.total`, total, 1);
  if (preempt !== undefined) checkBoolean(`${field}.preempt`, preempt);
  return tree;
}

/** In the kernel's words. */
export function toExecutionBudget(budget: Budget): ExecutionBudgetOptions {
  return {
    maxCostUsd: budget.usd,
    maxTokens: budget.tokens,
    maxTurns: budget.turns,
    maxToolCalls: budget.toolCalls,
    deadlineS: budget.seconds,
  };
}

export function toSpawnBudget(tree: TreeLimits): SpawnBudgetOptions {
  return { maxAgents: tree.agents, maxDepth: tree.depth, maxTotal: tree.total, allowPreempt: tree.preempt };
}

/** Of an agent that carries a whole value, where a null may be one that nobody wrote: it does not lift a default. */
export function fromSpawnBudget(budget: SpawnBudgetOptions): TreeLimits {
  const { maxAgents, maxDepth, maxTotal, allowPreempt } = budget;
  return {
    agents: maxAgents,
    depth: maxDepth ?? undefined,
    total: maxTotal ?? undefined,
    preempt: allowPreempt,
  };
}

/** The limits that a run had, as its result tells them; those that were asked for where it does not. */
export function limitsOf(told: RunLimits | undefined, asked: Limits | undefined): Limits {
  const { executionBudget = null, spawnBudget = null } = told ?? {};
  const fallback = asked ?? DEFAULT_LIMITS;
  return {
    budget:
      executionBudget === null ? fallback.budget : { ...NO_BUDGET, ...fromExecutionBudget(executionBudget) },
    tree: spawnBudget === null ? fallback.tree : wholeTree(spawnBudget),
  };
}

function wholeTree({ maxAgents, maxDepth, maxTotal, allowPreempt }: SpawnBudget): Limits["tree"] {
  return { agents: maxAgents, depth: maxDepth, total: maxTotal, preempt: allowPreempt };
}

/** Only what it says. A null of an agent's own is no limit of its own, and does not lift a default. */
function fromExecutionBudget(budget: ExecutionBudgetOptions | undefined): Partial<Limits["budget"]> {
  const { maxCostUsd, maxTokens, maxTurns, maxToolCalls, deadlineS } = budget ?? {};
  return {
    ...(isLimit(maxCostUsd) && { usd: maxCostUsd }),
    ...(isLimit(maxTokens) && { tokens: maxTokens }),
    ...(isLimit(maxTurns) && { turns: maxTurns }),
    ...(isLimit(maxToolCalls) && { toolCalls: maxToolCalls }),
    ...(isLimit(deadlineS) && { seconds: deadlineS }),
  };
}

function isLimit(value: number | null | undefined): value is number {
  return value !== undefined && value !== null;
}

/** A ledger of the user's own keeps its limits by itself. */
function literalBudget(budget: AgentDefaults["executionBudget"]): ExecutionBudgetOptions | undefined {
  return budget === undefined || "reserve" in budget ? undefined : budget;
}

function first<T>(...values: readonly [...(T | undefined)[], T]): T {
  for (const value of values) if (value !== undefined) return value;
  return values.at(-1) as T;
}
