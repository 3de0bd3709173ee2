import type { FunctionContext, ToolResult } from "@ravi/kernel";
import { tellTrip, trip } from "../guard.ts";
import { checkWord } from "../options.ts";

/** What a violation does: the model gets an error as the tool's result, or the run ends. Either way the tool is not run. */
export type OnViolation = "result" | "terminate";

export function checkOnViolation(field: string, value: unknown): OnViolation {
  return checkWord(field, value ?? "result", ["result", "terminate"]);
}

export function toolError(content: string): ToolResult {
  return { content, isError: true };
}

export function refuseCall(
  context: FunctionContext,
  layer: string,
  reason: string,
  onViolation: OnViolation,
): void {
  if (onViolation === "terminate") trip(context, layer, reason);
  tellTrip(context, layer, reason);
  context.result = toolError(`${context.functionName} was refused: ${reason}`);
}
