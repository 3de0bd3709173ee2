import { InvalidValueError } from "../errors/errors.ts";
import type { PendingWait } from "../ports/journal.ts";

/** Of what a run waits for, the names that an answer can be delivered under. */
export function answerable(waits: readonly PendingWait[] = []): readonly string[] {
  return waits.flatMap(({ kind, name }) => (kind === "signal" || kind === "approval" ? [name] : []));
}

/** The error for an answer that must be waited for, and is not. */
export function notAwaited(runId: string, name: string, names: readonly string[]): InvalidValueError {
  const known = [...new Set(names)].map((each) => JSON.stringify(each)).join(", ");
  const instead = known === "" ? "; it waits for no answer" : `: ${known}`;
  const expected = `a name that run ${runId} waits for now${instead}`;
  return new InvalidValueError({ field: "name", value: name, expected });
}
