import type { HireLeaf } from "../agent/leaves.ts";
import { InvalidValueError } from "../errors/errors.ts";

/**
 * Refuses `timeoutS` for `spawn`. It limits how long a parent waits; since nobody waits for a spawned agent, it would be a limit
 * without effect.
 */
export function refuseSpawnTime({ timeoutS }: Pick<HireLeaf, "timeoutS">): void {
  if (timeoutS === undefined) return;
  const expected =
    "undefined, because nobody waits for a spawned agent; limit its time with executionBudget.deadlineS";
  throw new InvalidValueError({ field: "spawn.timeoutS", value: timeoutS, expected });
}
