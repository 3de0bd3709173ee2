import { InvalidValueError } from "../errors/errors.ts";
import type { RestartPolicy } from "../ports/headcount.ts";

/** How many milliseconds the policy wants to wait before this restart. Throws if it says no number: without an end, nobody would wake. */
export function restartDelay(policy: RestartPolicy, attempt: number, whose: string): number {
  const delayMs = policy.delayMs(attempt);
  if (Number.isFinite(delayMs)) return delayMs;
  const field = `${whose}.delayMs(${attempt})`;
  throw new InvalidValueError({ field, value: delayMs, expected: "milliseconds" });
}
