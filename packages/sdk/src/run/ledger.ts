import {
  BudgetExhaustedError,
  type Clock,
  InvalidValueError,
  isRaviError,
  type Ledger,
  type ReserveOptions,
  type Spend,
  type Supervision,
} from "@ravi/kernel";
import { ExecutionTracker } from "@ravi/resources";
import { DEFAULT_LIMITS } from "../limits.ts";

/**
 * The ledger of a run. A limit in dollars that somebody set refuses models whose price is not known. The default one, which
 * nobody asked for, lets them through uncounted, or no local model would run without a word about its price: its tokens
 * are still counted. A resumed run knows the default only by its amount.
 */
export function ledgerFor(
  root: Supervision,
  { isDefaultUsd, clock }: { readonly isDefaultUsd: boolean; readonly clock: Clock | undefined },
): Ledger {
  const tracker = new ExecutionTracker(root.executionBudget, { scope: root.rootId, clock });
  return inOurWords(tracker, isDefaultUsd && root.executionBudget.maxCostUsd === DEFAULT_LIMITS.budget.usd);
}

function inOurWords(ledger: Ledger, lenient: boolean): Ledger {
  return {
    reserve(estimate, options) {
      const wanted = lenient && isUnpriced(estimate) ? { ...estimate, cost: 0 } : estimate;
      return reserve(ledger, wanted, options);
    },
    charge: (spent, options) => ledger.charge(spent, options),
    child: (budget, scope) =>
      inOurWords(ledger.child(budget, scope), lenient && (budget.maxCostUsd ?? null) === null),
    remaining: () => ledger.remaining(),
    raise: (more) => ledger.raise?.(more),
    get used() {
      return ledger.used;
    },
    snapshot: () => ledger.snapshot(),
  };
}

function reserve(
  ledger: Ledger,
  estimate: Partial<Spend>,
  options: ReserveOptions | undefined,
): ReturnType<Ledger["reserve"]> {
  try {
    return ledger.reserve(estimate, options);
  } catch (error) {
    if (isRaviError(error, "BUDGET_EXHAUSTED")) throw withOurNames(error);
    throw isRaviError(error, "INVALID_VALUE") && isUnpriced(estimate)
      ? unpriced(options?.what, error)
      : error;
  }
}

const OPTIONS: ReadonlyMap<string, string> = new Map([
  ["maxCostUsd", "budget.usd"],
  ["maxTokens", "budget.tokens"],
  ["maxTurns", "budget.turns"],
  ["maxToolCalls", "budget.toolCalls"],
  ["maxOutputTokens", "settings.maxOutputTokens"],
]);

/** What to raise goes by another name here. */
function withOurNames(error: BudgetExhaustedError): BudgetExhaustedError {
  const { dimension, used, limit, scope } = error;
  const hint = error.hint?.replace(/\bmax[A-Z]\w*/g, (name) => OPTIONS.get(name) ?? name);
  return new BudgetExhaustedError({ dimension, used, limit, scope, hint });
}

function isUnpriced({ cost, tokens = 0, turns = 0 }: Partial<Spend>): boolean {
  return cost === undefined && (tokens > 0 || turns > 0);
}

function unpriced(what = "provider:model", cause: unknown): InvalidValueError {
  return new InvalidValueError({
    field: `the price of ${what}`,
    value: "unknown",
    expected: `one, because there is a limit in dollars: give prices: { ${JSON.stringify(what)}: { input: 0.5, output: 1.5 } }, in dollars per million tokens (0 is a price), or take the limit off with budget: { usd: null }`,
    cause,
  });
}
