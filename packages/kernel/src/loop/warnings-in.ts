import type { BudgetWarning, Settlement } from "../ports/ledger.ts";

/**
 * What to report about a settlement: each limit once. A limit that was exceeded is reported even if it was warned about before.
 */
export function warningsIn({ warnings, exceeded }: Settlement): readonly BudgetWarning[] {
  const passed = exceeded.filter((each) => !warnings.some((warning) => isSame(warning, each)));
  return passed.length === 0 ? warnings : [...warnings, ...passed];
}

function isSame(one: BudgetWarning, other: BudgetWarning): boolean {
  return one.dimension === other.dimension && one.scope === other.scope;
}
