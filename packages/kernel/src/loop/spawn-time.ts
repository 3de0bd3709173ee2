import type { HireLeaf } from "../agent/leaves.ts";
import { InvalidValueError } from "../errors/errors.ts";

/**
 * Refuses `timeoutS` for `spawn`. It limits how long a parent waits; since nobody waits for a spawned agent, it would be a limit
 * without effect.
 */
export function refuseSpawnTime({ timeoutS }: Pick<HireLeaf, "timeoutS">): void {
  if (timeoutS === undefined) return;
  const expected = "nothing, as nobody waits for it; executionBudget.deadlineS limits its time";
  throw new InvalidValueError({ field: "spawn.timeoutS", value: timeoutS, expected });
}
