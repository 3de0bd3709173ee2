import type { AgentResult } from "../agent/agent.ts";
import type { HireOutcome, ToolResult } from "../agent/leaves.ts";
import { toToolResult, toolFailure } from "./tool-call.ts";

/** What came of a hand-off, as the model is told it. Whoever was cut off, whatever by, is never a success. */
export function hireResult(outcome: HireOutcome, name = "the agent"): ToolResult {
  switch (outcome.status) {
    case "completed":
      return answerOf(outcome.result, name);
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

/** Silence would look like an answer that says nothing, and the model would make one up. */
function answerOf({ output, structured }: AgentResult, name: string): ToolResult {
  if (output.trim() !== "") return { content: output, isError: false };
  if (structured === undefined) return toolFailure(`${name} gave no answer`);
  const { content, isError } = toToolResult(structured);
  return { content, isError };
}
