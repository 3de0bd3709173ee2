import {
  type AgentAccount,
  type AgentId,
  type AgentResult,
  errorFromJSON,
  errorToJSON,
  type HireOutcome,
  type HireUsage,
  type JsonObject,
  type JsonValue,
  NO_USAGE,
  type Priority,
  type RaviError,
  type RunStatus,
  type SerializedError,
  type StopReason,
  type StoppedBy,
  type Usage,
} from "@ravi/kernel";

export type ResultRecord = {
  readonly status: AgentResult["status"];
  readonly output: string;
  readonly stopReason: StopReason;
  readonly structured?: JsonValue;
};

/** What the begin of a hire says of who is hired. */
export type HireBegin = {
  readonly agentId: AgentId;
  readonly parentId: AgentId;
  readonly priority?: Priority;
};

/** What is written down of a child's end. */
export function outcomeToJSON(outcome: HireOutcome): JsonObject {
  const { status } = outcome;
  const used = usageToJSON(outcome);
  if ("result" in outcome) return { status, result: resultToJSON(outcome.result), ...used };
  if ("error" in outcome) return { status, failure: errorToJSON(outcome.error), ...used };
  return { status, ...used };
}

/** What is written down of what a hire took. */
export function usageToJSON({ usage, costUsd, stoppedBy }: HireUsage): JsonObject {
  return {
    ...(usage !== undefined && { usage: { ...usage } }),
    ...(costUsd !== undefined && { costUsd }),
    ...(stoppedBy !== undefined && { stoppedBy: { ...stoppedBy } }),
  };
}

export function usageIn(body: JsonObject): HireUsage {
  const { usage, costUsd, stoppedBy } = body;
  return {
    ...(usage !== undefined && { usage: usage as Usage }),
    ...(costUsd !== undefined && { costUsd: costUsd as number | null }),
    ...(stoppedBy !== undefined && { stoppedBy: stoppedBy as StoppedBy }),
  };
}

/** Of one who was never hired. */
export const NOTHING_USED: HireUsage = Object.freeze({ usage: NO_USAGE, costUsd: 0 });

export function restoreOutcome(body: JsonObject): HireOutcome {
  const used = usageIn(body);
  // The hire itself failed, as where its outcome could not be written down.
  if (body["error"] !== undefined) {
    return { status: "failed", error: errorFromJSON(body["error"] as SerializedError) as RaviError, ...used };
  }
  const status = body["status"] as HireOutcome["status"];
  if (status === "completed" || status === "partial" || status === "paused") {
    return { status, result: body["result"] as ResultRecord, ...used };
  }
  const error = errorFromJSON(body["failure"] as SerializedError) as RaviError;
  return { status: status === "timedOut" ? "failed" : status, error, ...used };
}

export function hireStatus({ status }: HireOutcome): RunStatus {
  if (status === "paused" || status === "timedOut") return "suspended";
  return status === "denied" ? "failed" : status;
}

export function accountStatus({ status }: HireOutcome): AgentAccount["status"] {
  return status === "timedOut" ? "failed" : status;
}

/** A structured result is recorded as the model's JSON; whoever needs its type parses it again. */
export function resultToJSON({ status, output, stopReason, structured }: AgentResult): ResultRecord {
  const record = { status, output, stopReason };
  return structured === undefined ? record : { ...record, structured: structured as JsonValue };
}
