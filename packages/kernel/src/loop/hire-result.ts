import type { AgentResult } from "../agent/agent.ts";
import type { HireOutcome, ToolResult } from "../agent/leaves.ts";
import { toldOf, toldOfDenial } from "./told.ts";
import { toToolResult, toolFailure } from "./tool-call.ts";

/**
 * The result of a hand-off, as the model is told. An agent that was cut off, for whatever reason, is never reported as a success.
 */
export function hireResult(outcome: HireOutcome, name = "the agent"): ToolResult {
  switch (outcome.status) {
    case "completed":
      return answerOf(outcome.result, name);
    case "partial":
      return toolFailure(`only a partial result (${whyPartial(outcome.result)}): ${outcome.result.output}`);
    case "paused":
      return toolFailure(`paused for more urgent work; the result so far: ${outcome.result.output}`);
    case "timedOut":
      return toolFailure("no answer in time; the agent is still working");
    case "denied":
      return toolFailure(`not hired: ${toldOfDenial(outcome.error)}`);
    default:
      return toolFailure(toldOf(outcome.error));
  }
}

/** If the answer was invalid, also what was wrong with it: the model may hand the task over again, and say what is needed. */
function whyPartial({ stopReason, problem }: AgentResult): string {
  return problem === undefined ? stopReason : `${stopReason}, ${problem}`;
}

/** An empty result would look like an answer, and the model would make one up. */
function answerOf({ output, structured }: AgentResult, name: string): ToolResult {
  if (output.trim() !== "") return { content: output, isError: false };
  if (structured === undefined) return toolFailure(`${name} gave no answer`);
  const { content, isError } = toToolResult(asRecorded(structured));
  return { content, isError };
}

/** As JSON has it: a resumed run reads it from the record, and must tell the same. What cannot be written is told as a failure. */
function asRecorded(value: unknown): unknown {
  try {
    return JSON.parse(JSON.stringify(value));
  } catch {
    return value;
  }
}
