import { type Agent, InvalidValueError } from "@ravi/kernel";
import { HELPER_PREFIX } from "@ravi/kernel/loop";

/** Refuses an agent that a model has defined: workers find agents by name, and another run may have one of the same name. */
export function refuseHelper({ id }: Agent): void {
  if (!id.startsWith(HELPER_PREFIX)) return;
  const expected =
    "an agent that all workers know: on Restate, a model cannot define helpers (dynamicHiring, spawn)";
  throw new InvalidValueError({ field: "hire", value: id, expected });
}
