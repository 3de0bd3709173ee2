import { InvalidValueError } from "../errors/errors.ts";

/** Throws if no execution of that run can have this id. It need not have started yet. */
export function refuseStranger(runId: string, to: unknown): void {
  if (to === runId || (typeof to === "string" && to.startsWith(`${runId}/`))) return;
  throw wrongRecipient(to, `the id of an execution of run ${runId}`);
}

/** Throws if the sender's name, or the id of a message, is no text. */
export function checkSendText(name: "from" | "id", value: unknown): void {
  if (typeof value === "string" && value !== "") return;
  throw new InvalidValueError({ field: `send options.${name}`, value, expected: "a non-empty string" });
}

/** The error for a message that nobody will read. */
export function missed(runId: string, to: string): InvalidValueError {
  const expected = (who: string): string =>
    `the id of ${who} that still reads messages; this one had ended before it read this one`;
  if (to !== runId) return wrongRecipient(to, expected("an agent"));
  return new InvalidValueError({ field: "runId", value: runId, expected: expected("a run") });
}

function wrongRecipient(to: unknown, expected: string): InvalidValueError {
  return new InvalidValueError({ field: "send options.to", value: to, expected });
}
