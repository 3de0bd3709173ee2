import type { JsonValue } from "../core/json.ts";
import type { SerializedError } from "../errors/to-json.ts";
import type { RunSummary } from "../ports/journal.ts";

/** In characters. A list may have thousands of runs; the whole text is in the run's record. */
const MOST = 1_000;

/** As much of a text as the list of runs shows. */
export function listedText(text: string): string {
  return text.length <= MOST ? text : `${text.slice(0, MOST)}…`;
}

/** As much of an error as the list of runs shows; undefined if it has no message. */
export function listedError(error: JsonValue | SerializedError | undefined): RunSummary["error"] {
  const { code, message } = (error ?? {}) as Partial<SerializedError>;
  return typeof message === "string" ? { code: code ?? null, message: listedText(message) } : undefined;
}
