import type { Agent } from "../agent/agent.ts";
import type { RunLimits, StoppedBy } from "../agent/handle.ts";
import { InvalidValueError } from "../errors/errors.ts";
import { checkDefaults } from "./check-agent.ts";
import {
  type ExecutionBudget,
  type ExecutionBudgetOptions,
  executionBudget,
} from "../policy/execution-budget.ts";
import type { SpawnBudgetOptions } from "../policy/spawn-budget.ts";
import type { Supervision } from "../policy/supervision.ts";
import type { Ledger, Spend } from "../ports/ledger.ts";

/** Whether there is a headcount and a ledger. Without them, nothing enforces the limits. */
export interface Keepers {
  readonly isCounted: boolean;
  readonly isMetered: boolean;
}

/** Whether an agent's `defaults.executionBudget` is a user's own ledger, and not limits. */
export function isLedger(value: unknown): value is Ledger {
  return (
    typeof value === "object" && value !== null && "reserve" in value && typeof value.reserve === "function"
  );
}

/** The lower of two limits; null means no limit. */
export function least(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b);
}

/** What an agent may spend at most: in each dimension the lower of its caller's and its own limit. */
export function tighterBudget(
  agent: Agent,
  budget: ExecutionBudgetOptions | undefined,
): ExecutionBudgetOptions | undefined {
  checkDefaults(agent);
  const given = agent.defaults?.executionBudget;
  const own = given !== undefined && isLedger(given) ? timeLimitOf(given) : given;
  if (own === undefined) return budget;
  if (budget === undefined) return own;
  const [a, b] = [executionBudget(budget), executionBudget(own)];
  return {
    maxTokens: least(a.maxTokens, b.maxTokens),
    maxCostUsd: least(a.maxCostUsd, b.maxCostUsd),
    maxTurns: least(a.maxTurns, b.maxTurns),
    maxToolCalls: least(a.maxToolCalls, b.maxToolCalls),
    deadlineS: least(a.deadlineS, b.deadlineS),
  };
}

/** A ledger counts no time, so this limit of it is kept like that of a budget. */
function timeLimitOf({ deadlineS = null }: Ledger): ExecutionBudgetOptions | undefined {
  return deadlineS === null ? undefined : { deadlineS };
}

/**
 * Throws if there is a limit but no ledger to enforce it: the user would only notice from the bill. A deadline needs no ledger.
 */
export function refuseLimits(whose: string, budget: ExecutionBudgetOptions): void {
  const { maxTokens, maxCostUsd, maxTurns, maxToolCalls } = budget;
  const limit = maxTokens ?? maxCostUsd ?? maxTurns ?? maxToolCalls ?? null;
  if (limit === null) return;
  throw new InvalidValueError({
    field: `${whose}.executionBudget`,
    value: JSON.stringify(budget, (name, each: unknown) => (name === "v" ? undefined : (each ?? undefined))),
    expected:
      "no limits but deadlineS, because nothing here enforces the others; use a runtime with a ledger: new Runtime({ ledger: (root) => new ExecutionTracker(root.executionBudget) })",
  });
}

/**
 * Throws if a run has limits that nothing enforces. `spawns` is what the caller asked for, because every tree has some limits by
 * default.
 */
export function refuseUnkept(
  { isCounted, isMetered }: Keepers,
  budget: ExecutionBudgetOptions,
  spawns: SpawnBudgetOptions | undefined,
): void {
  if (!isMetered) refuseLimits("run", budget);
  const limit = spawns?.maxAgents ?? spawns?.maxTotal ?? null;
  if (limit === null || isCounted) return;
  const expected =
    "no limits but maxDepth, because nothing here enforces the others; use a runtime with a headcount: new Runtime({ headcount: (root) => new SpawnTracker(root.spawnBudget) })";
  throw new InvalidValueError({ field: "spawnBudget", value: JSON.stringify(spawns), expected });
}

const NO_LIMITS: RunLimits = Object.freeze({ spawnBudget: null, executionBudget: null });

/** The limits that were enforced for a tree, including what was granted during the run. */
export function runLimits(
  root: Pick<Supervision, "spawnBudget" | "executionBudget">,
  { isCounted, isMetered }: Keepers,
  granted: Spend,
): RunLimits {
  const isTimed = root.executionBudget.deadlineS !== null;
  if (!isCounted && !isMetered && !isTimed) return NO_LIMITS;
  return {
    spawnBudget: isCounted ? root.spawnBudget : null,
    executionBudget: isMetered || isTimed ? raised(root.executionBudget, granted) : null,
  };
}

/**
 * The limits that a tree has exceeded, because a provider used more than was reserved for a call. Undefined if there are none.
 */
export function exceededIn(
  used: Spend,
  { executionBudget: budget }: RunLimits,
  scope: string,
): readonly StoppedBy[] | undefined {
  if (budget === null) return undefined;
  // Written out, because a loop over the names takes a hundredth of a run.
  const exceeded = passed("tokens", used.tokens, budget.maxTokens, scope, undefined);
  const inCost = passed("cost", used.cost, budget.maxCostUsd, scope, exceeded);
  const inTurns = passed("turns", used.turns, budget.maxTurns, scope, inCost);
  return passed("toolCalls", used.toolCalls, budget.maxToolCalls, scope, inTurns);
}

function passed(
  dimension: keyof Spend,
  used: number,
  limit: number | null,
  scope: string,
  others: readonly StoppedBy[] | undefined,
): readonly StoppedBy[] | undefined {
  if (limit !== null && used > limit) return [...(others ?? []), { dimension, used, limit, scope }];
  return others;
}

/** The maximum that ledgers count in any dimension. A limit is never raised above it. */
const MAX_AMOUNT = Number.MAX_SAFE_INTEGER;

/** Rounded as ledgers do: 0.7 and 0.1 make 0.8. */
function inNanos(usd: number | null): number | null {
  return usd === null ? null : Math.min(Math.round(usd * 1e9), MAX_AMOUNT) / 1e9;
}

function raised(given: ExecutionBudget, { tokens, cost, turns, toolCalls }: Spend): ExecutionBudget {
  if (tokens + cost + turns + toolCalls === 0) return given;
  const raise = (limit: number | null, more: number): number | null =>
    limit === null || more === 0 ? limit : Math.min(limit + more, MAX_AMOUNT);
  return executionBudget({
    ...given,
    maxTokens: raise(given.maxTokens, tokens),
    maxCostUsd: inNanos(raise(given.maxCostUsd, cost)),
    maxTurns: raise(given.maxTurns, turns),
    maxToolCalls: raise(given.maxToolCalls, toolCalls),
  });
}
