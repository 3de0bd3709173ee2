import type { ToolOutcome, ToolResult } from "../../../agent/leaves.ts";
import type { ToolCall, ToolMessage } from "../../../model/messages.ts";
import { toldOf } from "../../told.ts";
import { toolFailure } from "../../tool-call.ts";

// Messages to a model about its calls.

/** Tells the model that there is no such tool, and which ones there are. */
export function unknownTool(call: ToolCall, tools: readonly { readonly name: string }[]): ToolMessage {
  const available =
    tools.length === 0
      ? "no tools are available"
      : `available tools: ${tools.map(({ name }) => name).join(", ")}`;
  return failure(call, `unknown tool ${JSON.stringify(call.name)}; ${available}`);
}

export function toolResult(outcome: ToolOutcome): ToolResult {
  return "error" in outcome ? toolFailure(toldOf(outcome.error)) : outcome.result;
}

export function toMessage(call: ToolCall, { content, isError }: ToolResult): ToolMessage {
  if (isError) return { role: "tool", toolCallId: call.id, name: call.name, content, isError };
  return { role: "tool", toolCallId: call.id, name: call.name, content };
}

export function failure(call: ToolCall, problem: string): ToolMessage {
  return { role: "tool", toolCallId: call.id, name: call.name, content: `error: ${problem}`, isError: true };
}
