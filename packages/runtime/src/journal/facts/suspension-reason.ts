import type { JsonObject, RunSummary, SerializedError } from "@ravi/kernel";

/** Why a run is suspended, from the body of its last entry, which says so; undefined if it says nothing. */
export function suspensionReason(body: JsonObject | null | undefined): RunSummary["error"] {
  const error =
    body?.["status"] === "suspended" ? (body["error"] as SerializedError | null | undefined) : undefined;
  return typeof error?.message === "string" ? { code: error.code, message: error.message } : undefined;
}
