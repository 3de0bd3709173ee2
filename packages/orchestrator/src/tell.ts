import { type HireOutcome, isCancellation, isRaviError, type RaviError, type ToolResult } from "@ravi/kernel";
import { hireResult, toolFailure } from "@ravi/kernel/loop";

/** What the orchestrator's model is told about a hand-off: what happened, what the result is, and what it can do now. */
export function tellOutcome(name: string, outcome: HireOutcome, restarts: number): ToolResult {
  switch (outcome.status) {
    case "completed":
      return hireResult(outcome, name);
    case "partial": {
      const { stopReason, output } = outcome.result;
      return toolFailure(
        `${name} was cut off before it finished (${CUT_OFF[stopReason] ?? stopReason}). ${has(output)}`,
      );
    }
    case "paused":
      return toolFailure(
        `${name} was paused for more urgent work and did not finish. ${has(outcome.result.output)}`,
      );
    case "timedOut":
      return toolFailure(
        `${name} has not answered yet and is still working. Go on with something else: you will get its answer before you finish.`,
      );
    case "denied":
      return toolFailure(`${name} was not hired: ${outcome.error.message}${insteadOf(outcome.error)}`);
    case "cancelled":
      return toolFailure(
        isRaviError(outcome.error, "DEADLINE_EXCEEDED")
          ? `${name} did not answer in time and was stopped. Hand over a smaller task, or go on without it.`
          : `${name} was stopped: ${outcome.error.message}`,
      );
    default: {
      const tries =
        restarts === 0 ? "" : `, even after ${restarts} ${restarts === 1 ? "restart" : "restarts"}`;
      return toolFailure(`${name} did not succeed${tries}: ${outcome.error.message}`);
    }
  }
}

/** What to do instead. A slot becomes free when another agent ends, but the limits on total hires and on depth do not. */
function insteadOf(error: RaviError): string {
  if (!isRaviError(error, "BUDGET_EXHAUSTED")) return "";
  const isForGood = error.dimension === "totalAgents" || error.dimension === "depth";
  return isForGood
    ? ". Do the work yourself."
    : ". Do the work yourself, or hand it over again when another agent has finished.";
}

/**
 * Whether hiring again could help. Decisions (a cancellation, a budget) and errors that a layer below has already retried are not
 * repeated.
 */
export function isCrash(outcome: HireOutcome): outcome is Extract<HireOutcome, { readonly error: unknown }> {
  if (outcome.status !== "failed") return false;
  const { error } = outcome;
  return !isCancellation(error) && !FINAL.some((code) => isRaviError(error, code));
}

const FINAL = [
  "PROVIDER_ERROR",
  // A configuration mistake, such as a missing key, is the same next time.
  "INVALID_VALUE",
  "BUDGET_EXHAUSTED",
  "MIDDLEWARE_TERMINATION",
  "PAUSED",
  "SUSPENDED",
  "NEEDS_DECISION",
  "NON_DETERMINISM",
  "JOURNAL_CORRUPT",
  "JOURNAL_FAILED",
  "JOURNAL_LOCKED",
] as const;

const CUT_OFF: Readonly<Record<string, string>> = {
  budget: "its budget was used up",
  deadline: "its time was up",
  steps: "it reached its maximum number of steps",
  length: "its answer was too long",
  loop: "it kept repeating itself",
  invalid: "its answer did not match the required schema",
  failed: "a part of its work failed",
};

function has(output: string): string {
  return output.trim() === "" ? "It left no result." : `Its result so far: ${output}`;
}
