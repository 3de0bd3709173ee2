import {
  type AgentResult,
  errorFromJSON,
  errorToJSON,
  type HireOutcome,
  type JsonObject,
  type JsonValue,
  type RaviError,
  type RunStatus,
  type SerializedError,
  type StopReason,
} from "@ravi/kernel";

type ResultRecord = {
  readonly status: AgentResult["status"];
  readonly output: string;
  readonly stopReason: StopReason;
  readonly structured?: JsonValue;
};

/** What is written down of a child's end. */
export function outcomeToJSON(outcome: HireOutcome): JsonObject {
  if ("result" in outcome) return { status: outcome.status, result: resultToJSON(outcome.result) };
  if ("error" in outcome) return { status: outcome.status, failure: errorToJSON(outcome.error) };
  return { status: outcome.status };
}

export function restoreOutcome(body: JsonObject): HireOutcome {
  const status = body["status"] as HireOutcome["status"];
  if (status === "completed" || status === "partial" || status === "paused") {
    return { status, result: body["result"] as ResultRecord };
  }
  const error = errorFromJSON(body["failure"] as SerializedError) as RaviError;
  return { status: status === "timedOut" ? "failed" : status, error };
}

export function hireStatus({ status }: HireOutcome): RunStatus {
  if (status === "paused" || status === "timedOut") return "suspended";
  return status === "denied" ? "failed" : status;
}

/** A structured result is recorded as the model's JSON; whoever needs its type parses it again. */
function resultToJSON({ status, output, stopReason, structured }: AgentResult): ResultRecord {
  const record = { status, output, stopReason };
  return structured === undefined ? record : { ...record, structured: structured as JsonValue };
}
