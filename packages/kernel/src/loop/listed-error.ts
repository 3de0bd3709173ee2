import type { JsonValue } from "../core/json.ts";
import type { SerializedError } from "../errors/to-json.ts";
import type { RunSummary } from "../ports/journal.ts";

/** In characters. A list may have thousands of runs; the whole message is in the run's record. */
const MOST = 1_000;

/** As much of an error as the list of runs shows; undefined if it has no message. */
export function listedError(error: JsonValue | SerializedError | undefined): RunSummary["error"] {
  const { code, message } = (error ?? {}) as Partial<SerializedError>;
  if (typeof message !== "string") return undefined;
  return { code: code ?? null, message: message.length <= MOST ? message : `${message.slice(0, MOST)}…` };
}
