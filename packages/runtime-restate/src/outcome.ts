import {
  type AgentResult,
  errorFromJSON,
  errorToJSON,
  type HireOutcome,
  type HireUsage,
  type JsonObject,
  type RaviError,
  type SerializedError,
} from "@ravi/kernel";

/** A child's outcome as JSON. A structured result is sent as it is. */
export function outcomeToJSON(outcome: HireOutcome): JsonObject {
  const { status, stoppedBy } = outcome;
  const base = { status, ...(stoppedBy !== undefined && { stoppedBy: { ...stoppedBy } }) };
  if ("result" in outcome) return { ...base, result: { ...outcome.result } as JsonObject };
  return "error" in outcome ? { ...base, failure: errorToJSON(outcome.error) } : base;
}

/** The outcome from its JSON. */
export function outcomeFromJSON(body: JsonObject): HireOutcome {
  const { status, usage, costUsd, stoppedBy } = body as JsonObject & HireUsage;
  const took: HireUsage = {
    ...(usage !== undefined && { usage, costUsd }),
    ...(stoppedBy !== undefined && { stoppedBy }),
  };
  if (status === "completed" || status === "partial" || status === "paused") {
    return { ...took, status, result: body["result"] as JsonObject & AgentResult };
  }
  const error = errorFromJSON(body["failure"] as SerializedError) as RaviError;
  return { ...took, status: status === "cancelled" || status === "denied" ? status : "failed", error };
}
