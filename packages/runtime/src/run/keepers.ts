import type { JsonObject, RunLimits } from "@ravi/kernel";
import type { runLimits } from "@ravi/kernel/loop";

/** Whether a run has a headcount and a ledger. */
export type Keepers = Parameters<typeof runLimits>[1];

/** The name of the field in the record of a start. A run that has both keepers is recorded without it. */
const UNKEPT = "unkept";

/** The limits that nobody keeps, for the record of a start; undefined if all are kept. */
export function unkeptBy({ isCounted, isMetered }: Keepers): readonly string[] | undefined {
  if (isCounted) return isMetered ? undefined : NOT_METERED;
  return isMetered ? NOT_COUNTED : NEITHER;
}

const NOT_METERED = Object.freeze(["executionBudget"]);
const NOT_COUNTED = Object.freeze(["spawnBudget"]);
const NEITHER = Object.freeze(["spawnBudget", "executionBudget"]);

/** As the start of a run has them. */
export function keepersIn(start: JsonObject): Keepers {
  const unkept = start[UNKEPT];
  const isKept = (limits: keyof RunLimits): boolean => !Array.isArray(unkept) || !unkept.includes(limits);
  return { isCounted: isKept("spawnBudget"), isMetered: isKept("executionBudget") };
}

/** As the result of a run has them. */
export function keepersOf({ spawnBudget, executionBudget }: RunLimits): Keepers {
  return { isCounted: spawnBudget !== null, isMetered: executionBudget !== null };
}
