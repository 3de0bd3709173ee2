import {
  type AgentResult,
  type HireOutcome,
  isRaviError,
  type RaviError,
  type RunContext,
  type StopReason,
  ToolError,
} from "@ravi/kernel";

/** What came of one step or branch. Plain JSON: it is on record with the flow's result. */
export type StepResult = {
  readonly name: string;
  readonly status: Exclude<HireOutcome["status"], "timedOut">;
  /** What it gave; of one that was cut off what it has left, of one that failed nothing. */
  readonly output: string;
  /** Why it was cut off, failed or never began. */
  readonly reason?: string;
};

/** A flow's result: `structured` has what came of each step that was begun, in order. */
export type FlowResult = AgentResult<readonly StepResult[]>;

export function toStepResult(name: string, outcome: HireOutcome): StepResult {
  if ("result" in outcome) {
    const { output, stopReason } = outcome.result;
    if (outcome.status === "completed") return { name, status: outcome.status, output };
    return { name, status: outcome.status, output, reason: stopReason };
  }
  // No step is ever left to itself, so one that was late was cancelled.
  if (outcome.status === "timedOut")
    return { name, status: "cancelled", output: "", reason: "no answer in time" };
  return { name, status: outcome.status, output: "", reason: outcome.error.message };
}

/**
 * The result of a flow that is not complete. Where nothing at all came of it, the first failure is the flow's own and is
 * thrown; else there is something that was paid for, and it is partial.
 */
export function incomplete(
  ctx: RunContext,
  outcomes: readonly HireOutcome[],
  output: string,
  structured: readonly StepResult[],
): FlowResult {
  const failed = outcomes.find((outcome) => "error" in outcome);
  const isFruitless = outcomes.every((outcome) => "error" in outcome);
  if (isFruitless && failed !== undefined && "error" in failed) throw ownFailure(ctx, failed.error);
  return { status: "partial", output, structured, stopReason: stopReasonOf(outcomes) };
}

/** A branch that was cancelled alone has failed: the flow was not cancelled, and must not be taken for it. */
function ownFailure({ agentId, meta }: RunContext, error: RaviError): RaviError {
  if (!isRaviError(error, "CANCELLED") || meta.cancellation.isCancelled) return error;
  return new ToolError({ toolName: agentId, message: `a branch was ${error.message}`, cause: error });
}

/** By the first step that is not completed. */
function stopReasonOf(outcomes: readonly HireOutcome[]): StopReason {
  const first = outcomes.find(({ status }) => status !== "completed");
  if (first === undefined) return "failed";
  if ("result" in first) return first.result.stopReason;
  if (!("error" in first)) return "deadline";
  if (isRaviError(first.error, "BUDGET_EXHAUSTED")) return "budget";
  return isRaviError(first.error, "DEADLINE_EXCEEDED") ? "deadline" : "failed";
}
