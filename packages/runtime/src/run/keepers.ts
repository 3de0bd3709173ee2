import {
  InvalidValueError,
  type JsonObject,
  type RunId,
  type RunLimits,
  type Supervision,
} from "@ravi/kernel";
import { refuseUnkept, type runLimits } from "@ravi/kernel/loop";

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

/**
 * Throws if nothing here would keep the limits that a recorded run was started with. Its ledger and its headcount may have limits of their
 * own, so they are missed by a run that has none, too.
 */
export function checkKept(
  { runId, executionBudget }: Supervision,
  start: JsonObject,
  { isCounted, isMetered }: Keepers,
): void {
  refuseUnkept({ isMetered, isCounted: true }, executionBudget, undefined);
  const kept = keepersIn(start);
  if (kept.isMetered && !isMetered) throw missing(runId, "ledger");
  if (kept.isCounted && !isCounted) throw missing(runId, "headcount");
}

function missing(runId: RunId, port: "ledger" | "headcount"): InvalidValueError {
  const expected = `a ${port}, because run ${runId} was started with one`;
  return new InvalidValueError({ field: `runtime options.${port}`, value: undefined, expected });
}
