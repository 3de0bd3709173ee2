import type { JsonObject, JsonValue, RunStatus, RunSummary, SerializedError } from "@ravi/kernel";
import { isKey, RUN_STATUS } from "./run-facts.ts";

/** A run with another status has no error. */
export const WITH_ERROR: readonly RunStatus[] = ["suspended", "partial", "failed", "cancelled"];

/** A list may have thousands of runs. The whole message is in the run's record, and the whole reason was posted to it. */
const MOST = 1_000;

/** The last entry of a run. */
interface LastEntry {
  readonly exec: string | undefined;
  readonly key: string | undefined;
  readonly body: JsonObject | null | undefined;
}

/** Why a run is suspended, or has ended before it was done, if its last entry says so. */
export function errorIn(runId: string, { exec, key, body }: LastEntry): RunSummary["error"] {
  return exec === runId && key !== undefined && isKey(key, RUN_STATUS) ? listedError(body) : undefined;
}

/** As much of the error in a status as a list shows. */
export function listedError(body: JsonObject | null | undefined): RunSummary["error"] {
  const error = body?.["error"] as SerializedError | null | undefined;
  if (typeof error?.message !== "string") return undefined;
  const { code, message } = error;
  return { code, message: shortened(message) };
}

/** As much of why a run was cancelled as a list shows. */
export function listedReason(value: JsonValue): string {
  return shortened(cancelReasonIn(value));
}

function shortened(text: string): string {
  return text.length <= MOST ? text : `${text.slice(0, MOST)}…`;
}

/** Why a run was cancelled, from the value of the post. */
export function cancelReasonIn(value: JsonValue): string {
  return typeof value === "string" ? value : "cancelled from outside";
}
