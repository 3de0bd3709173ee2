import { type HireOutcome, isRaviError, type ToolResult } from "@ravi/kernel";
import { hireResult, toldOf, toldOfDenial, toolFailure } from "@ravi/kernel/loop";

/** What the orchestrator's model is told about a hand-off: what happened, what the result is, and what it can do now. */
export function describeOutcome(name: string, outcome: HireOutcome, restarts: number): ToolResult {
  switch (outcome.status) {
    case "completed":
      return hireResult(outcome, name);
    case "partial": {
      const { stopReason, output, problem } = outcome.result;
      const why = CUT_OFF.get(stopReason) ?? stopReason;
      return toolFailure(
        `${name} was cut off before it finished (${problem === undefined ? why : `${why}: ${problem}`}). ${describeOutput(output)}`,
      );
    }
    case "paused":
      return toolFailure(
        `${name} was paused for more urgent work and did not finish. ${describeOutput(outcome.result.output)}`,
      );
    case "timedOut":
      return toolFailure(
        `${name} has not answered yet and is still working. Go on with something else: you will get its answer before you finish.`,
      );
    case "denied":
      return toolFailure(`${name} was not hired: ${toldOfDenial(outcome.error)}`);
    case "cancelled":
      return toolFailure(
        isRaviError(outcome.error, "DEADLINE_EXCEEDED")
          ? `${name} did not answer in time and was stopped. Hand over a smaller task, or go on without it.`
          : `${name} was stopped: ${toldOf(outcome.error)}`,
      );
    default: {
      const afterRestarts =
        restarts === 0 ? "" : `, even after ${restarts} ${restarts === 1 ? "restart" : "restarts"}`;
      return toolFailure(`${name} did not succeed${afterRestarts}: ${toldOf(outcome.error)}`);
    }
  }
}

const CUT_OFF: ReadonlyMap<string, string> = new Map([
  ["budget", "its budget was used up"],
  ["deadline", "its time was up"],
  ["steps", "it reached its maximum number of steps"],
  ["length", "its answer was too long"],
  ["loop", "it kept repeating itself"],
  ["invalid", "its answer did not match the required schema"],
  ["failed", "a part of its work failed"],
]);

function describeOutput(output: string): string {
  return output.trim() === "" ? "It left no result." : `Its result so far: ${output}`;
}
