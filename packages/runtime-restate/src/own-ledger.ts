import { type Agent, InvalidValueError } from "@ravi/kernel";
import { isLedger } from "@ravi/kernel/loop";

/** Left aside in silence it would be a limit that is none. */
export function refuseOwnLedger({ id, defaults }: Agent): void {
  const own = defaults?.executionBudget;
  if (own === undefined || !isLedger(own)) return;
  throw new InvalidValueError({
    field: `${id}: defaults.executionBudget`,
    value: "a ledger",
    expected: "limits: a ledger of one process cannot count what others spend",
  });
}
