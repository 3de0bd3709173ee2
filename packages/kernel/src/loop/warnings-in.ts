import type { BudgetWarning, Settlement } from "../ports/ledger.ts";

/**
 * What is to be told of a settlement: each limit once. One that was warned of before has been passed since, and that is told too.
 */
export function warningsIn({ warnings, exceeded }: Settlement): readonly BudgetWarning[] {
  const passed = exceeded.filter((each) => !warnings.some((warning) => isSame(warning, each)));
  return passed.length === 0 ? warnings : [...warnings, ...passed];
}

function isSame(one: BudgetWarning, other: BudgetWarning): boolean {
  return one.dimension === other.dimension && one.scope === other.scope;
}
