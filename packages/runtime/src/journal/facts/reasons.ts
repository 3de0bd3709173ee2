import type { JsonObject, JsonValue, RunStatus, RunSummary } from "@ravi/kernel";
import { listedError, listedText } from "@ravi/kernel/loop";
import { isKey, RUN_STATUS } from "./run-facts.ts";

/** A run with another status has no error. */
export const WITH_ERROR: readonly RunStatus[] = ["suspended", "partial", "failed", "cancelled"];

/** The last entry of a run. */
interface LastEntry {
  readonly exec: string | undefined;
  readonly key: string | undefined;
  readonly body: JsonObject | null | undefined;
}

/** Why a run is suspended, or has ended before it was done, if its last entry says so. */
export function errorIn(runId: string, { exec, key, body }: LastEntry): RunSummary["error"] {
  return exec === runId && key !== undefined && isKey(key, RUN_STATUS)
    ? listedError(body?.["error"])
    : undefined;
}

/** Why a run was cancelled, from the value of the post. */
export function cancelReasonIn(value: JsonValue): string {
  return typeof value === "string" ? value : "cancelled from outside";
}

/** As much of that as a list shows. */
export function listedReason(value: JsonValue): string {
  return listedText(cancelReasonIn(value));
}
