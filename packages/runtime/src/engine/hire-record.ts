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

/** An agent's result as it is recorded. */
export type ResultRecord = {
  readonly status: AgentResult["status"];
  readonly output: string;
  readonly stopReason: StopReason;
  readonly structured?: JsonValue;
  readonly problem?: string;
};

/** The part of a hire's begin entry that says who is hired. */
export type HireBegin = {
  readonly agentId: AgentId;
  readonly parentId: AgentId;
  readonly priority?: Priority;
};

/** The body of a hire's end entry. */
export function outcomeToJSON(outcome: HireOutcome): JsonObject {
  const { status, usage, costUsd, stoppedBy } = outcome;
  // Written out for the usual outcome, because spreads take several times as long.
  if ("result" in outcome && usage !== undefined && costUsd !== undefined && stoppedBy === undefined)
    return { status, result: resultToJSON(outcome.result), usage: { ...usage }, costUsd };
  const used = usageToJSON(outcome);
  if ("result" in outcome) return { status, result: resultToJSON(outcome.result), ...used };
  if ("error" in outcome) return { status, failure: errorToJSON(outcome.error), ...used };
  return { status, ...used };
}

/** What a hire has used, as it is recorded. */
export function usageToJSON({ usage, costUsd, stoppedBy }: HireUsage): JsonObject {
  return {
    ...(usage !== undefined && { usage: { ...usage } }),
    ...(costUsd !== undefined && { costUsd }),
    ...(stoppedBy !== undefined && { stoppedBy: { ...stoppedBy } }),
  };
}

/** What a hire has used, from a recorded body. */
export function usageIn(body: JsonObject): HireUsage {
  const { usage, costUsd, stoppedBy } = body;
  return {
    ...(usage !== undefined && { usage: usage as Usage }),
    ...(costUsd !== undefined && { costUsd: costUsd as number | null }),
    ...(stoppedBy !== undefined && { stoppedBy: stoppedBy as StoppedBy }),
  };
}

/** The usage of a hire that never started. */
export const NOTHING_USED: HireUsage = Object.freeze({ usage: NO_USAGE, costUsd: 0 });

/** The outcome of a hire, from the body of its end entry. */
export function restoreOutcome(body: JsonObject): HireOutcome {
  const used = usageIn(body);
  // The hire itself failed: for instance, its outcome could not be recorded.
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

/** The status of a child's handle after this outcome. */
export function hireStatus({ status }: HireOutcome): RunStatus {
  if (status === "paused" || status === "timedOut") return "suspended";
  return status === "denied" ? "failed" : status;
}

/** The status of an agent's account after this outcome. */
export function accountStatus({ status }: HireOutcome): AgentAccount["status"] {
  return status === "timedOut" ? "failed" : status;
}

/** A structured result is recorded as plain JSON. Whoever gets it from the record reads it with its schema again (`readOutcome`). */
export function resultToJSON(result: AgentResult): ResultRecord {
  const { status, output, stopReason, structured, problem } = result;
  const record = { status, output, stopReason };
  if (structured === undefined && problem === undefined) return record;
  return {
    ...record,
    ...(structured !== undefined && { structured: structured as JsonValue }),
    ...(problem !== undefined && { problem }),
  };
}
