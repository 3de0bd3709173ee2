import { InvalidValueError, type RunId } from "@ravi/kernel";
import { wrongRun } from "./run/run-driver.ts";

/** Throws if no execution of that run can have this id. It need not have started yet. */
export function refuseStranger(runId: RunId, to: unknown): void {
  if (to === runId || (typeof to === "string" && to.startsWith(`${runId}/`))) return;
  throw wrongRecipient(to, `the id of an execution of run ${runId}`);
}

/** The error for a message that nobody will read. */
export function missed(runId: string, to: string): InvalidValueError {
  const expected = (who: string): string =>
    `the id of ${who} that still reads messages; this one had ended before it read this one`;
  return to === runId ? wrongRun(runId, expected("a run")) : wrongRecipient(to, expected("an agent"));
}

function wrongRecipient(to: unknown, expected: string): InvalidValueError {
  return new InvalidValueError({ field: "send options.to", value: to, expected });
}
