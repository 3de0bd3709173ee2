import {
  type AgentResult,
  type HireOutcome,
  isRaviError,
  type RaviError,
  type RunContext,
  type StopReason,
  ToolError,
} from "@ravi/kernel";

/** The result of one step or branch. Plain JSON, because it is recorded with the flow's result. */
export type StepResult = {
  readonly name: string;
  readonly status: Exclude<HireOutcome["status"], "timedOut">;
  /** Its answer; what it had so far if it was cut off; empty if it failed. */
  readonly output: string;
  /** Why it was cut off, failed or never started. */
  readonly reason?: string;
  /** What was wrong with its last answer, if the reason is `invalid`. */
  readonly problem?: string;
};

/** A flow's result. `structured` has the result of each step that was started, in order. */
export type FlowResult = AgentResult<readonly StepResult[]>;

export function toStepResult(name: string, outcome: HireOutcome): StepResult {
  if ("result" in outcome) {
    const { output, stopReason: reason, problem } = outcome.result;
    if (outcome.status === "completed") return { name, status: outcome.status, output };
    return { name, status: outcome.status, output, reason, ...(problem !== undefined && { problem }) };
  }
  // Flows do not let a late step continue in the background, so one that timed out was cancelled.
  if (outcome.status === "timedOut")
    return { name, status: "cancelled", output: "", reason: "no answer in time" };
  return { name, status: outcome.status, output: "", reason: outcome.error.message };
}

/**
 * The result of a flow that is not complete. If every step failed, the first failure becomes the flow's own and is thrown; otherwise there
 * is something that was paid for, and the result is `partial`.
 */
export function incomplete(
  ctx: RunContext,
  outcomes: readonly HireOutcome[],
  output: string,
  structured: readonly StepResult[],
): FlowResult {
  const [failure, ...others] = outcomes.flatMap((outcome) => ("error" in outcome ? [outcome.error] : []));
  if (failure !== undefined && others.length === outcomes.length - 1) throw toFlowError(ctx, failure);
  const first = outcomes.find(({ status }) => status !== "completed");
  const problem = first !== undefined && "result" in first ? first.result.problem : undefined;
  const stopReason = stopReasonOf(first);
  return { status: "partial", output, structured, stopReason, ...(problem !== undefined && { problem }) };
}

/**
 * If only a branch was cancelled, the flow has failed: a cancellation error would look as if the flow itself had been cancelled.
 */
function toFlowError({ agentId, meta }: RunContext, error: RaviError): RaviError {
  if (!isRaviError(error, "CANCELLED") || meta.cancellation.isCancelled) return error;
  return new ToolError({ toolName: agentId, message: `a branch was ${error.message}`, cause: error });
}

/** Taken from the first step that is not completed. */
function stopReasonOf(first: HireOutcome | undefined): StopReason {
  if (first === undefined) return "failed";
  if ("result" in first) return first.result.stopReason;
  if (!("error" in first)) return "deadline";
  if (isRaviError(first.error, "BUDGET_EXHAUSTED")) return "budget";
  return isRaviError(first.error, "DEADLINE_EXCEEDED") ? "deadline" : "failed";
}
