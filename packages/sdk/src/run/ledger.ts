import {
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
 * The ledger of a run. If the user has set a limit in dollars, models without a known price are refused. The default limit lets
 * them through at a cost of 0, since otherwise no local model would run without configured prices; their tokens are still
 * counted. For a resumed run, the default limit is recognised by its amount.
 */
export function ledgerFor(
  root: Supervision,
  { isDefaultUsd, clock }: { readonly isDefaultUsd: boolean; readonly clock: Clock | undefined },
): Ledger {
  const tracker = new ExecutionTracker(root.executionBudget, { scope: root.rootId, clock });
  return inOurWords(tracker, isDefaultUsd && root.executionBudget.maxCostUsd === DEFAULT_LIMITS.budget.usd);
}

/** Wraps a ledger so that its errors name this package's options. `lenient`: a call without a known price counts as free. */
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
    throw isRaviError(error, "INVALID_VALUE") && isUnpriced(estimate)
      ? unpriced(options?.what, error)
      : error;
  }
}

/** Whether it is the estimate of a model call whose price is not known. */
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
