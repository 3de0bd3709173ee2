import type { HireLeaf } from "../agent/leaves.ts";
import { InvalidValueError } from "../errors/errors.ts";

/** For `spawn`. A time says how long a parent waits: left aside in silence, where nobody waits, it would be a limit that is none. */
export function refuseSpawnTime({ timeoutS }: Pick<HireLeaf, "timeoutS">): void {
  if (timeoutS === undefined) return;
  const expected = "nothing, as nobody waits for it; executionBudget.deadlineS limits its time";
  throw new InvalidValueError({ field: "spawn.timeoutS", value: timeoutS, expected });
}
