import type { JsonObject, JsonValue, RunStatus, RunSummary, SerializedError } from "@ravi/kernel";
import { RUN_STATUS } from "./run-facts.ts";

/** A run with another status has no error. */
export const WITH_ERROR: readonly RunStatus[] = ["suspended", "partial", "failed", "cancelled"];

/** A list may have thousands of runs. The whole message is in the run's record. */
const MOST = 1_000;

/** The last entry of a run. */
interface LastEntry {
  readonly exec: string | undefined;
  readonly key: string | undefined;
  readonly body: JsonObject | null | undefined;
}

/** Why a run is suspended, or has ended before it was done, if its last entry says so. */
export function errorIn(runId: string, { exec, key, body }: LastEntry): RunSummary["error"] {
  if (exec !== runId || (key !== RUN_STATUS && key?.startsWith(`${RUN_STATUS}#`) !== true)) return undefined;
  const error = body?.["error"] as SerializedError | null | undefined;
  if (typeof error?.message !== "string") return undefined;
  const { code, message } = error;
  return { code, message: message.length <= MOST ? message : `${message.slice(0, MOST)}…` };
}

/** Why a run was cancelled, from the value of the post. */
export function cancelReasonIn(value: JsonValue): string {
  return typeof value === "string" ? value : "cancelled from outside";
}
