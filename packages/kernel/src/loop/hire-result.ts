import type { HireOutcome, ToolResult } from "../agent/leaves.ts";
import { toolFailure } from "./tool-call.ts";

/** What came of a hand-off, as the model is told it. Whoever was cut off, whatever by, is never a success. */
export function hireResult(outcome: HireOutcome): ToolResult {
  switch (outcome.status) {
    case "completed":
      return { content: outcome.result.output, isError: false };
    case "partial":
      return toolFailure(`only a partial result (${outcome.result.stopReason}): ${outcome.result.output}`);
    case "paused":
      return toolFailure(`paused for more urgent work, with this so far: ${outcome.result.output}`);
    case "timedOut":
      return toolFailure("no answer in time; it is still working");
    case "denied":
      return toolFailure(`not hired: ${outcome.error.message}`);
    default:
      return toolFailure(outcome.error.message);
  }
}
