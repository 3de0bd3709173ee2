import { type Agent, InvalidValueError } from "@ravi/kernel";
import { isLedger } from "@ravi/kernel/loop";

/** Refuses an agent that has a ledger of its own. If it were ignored, its limit would silently not apply. */
export function refuseOwnLedger({ id, defaults }: Agent): void {
  const own = defaults?.executionBudget;
  if (own === undefined || !isLedger(own)) return;
  throw new InvalidValueError({
    field: `${id}: defaults.executionBudget`,
    value: "a ledger",
    expected:
      "limits, such as { maxCostUsd: 1 }: a ledger of one process cannot count what other processes spend",
  });
}
