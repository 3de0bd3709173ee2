import type { ModelResponse } from "../model/llm.ts";
import type { ToolCall } from "../model/messages.ts";

/**
 * Whether an answer was cut off. Then none of its calls is made, because the last one may only look complete. For an unknown
 * finish reason ("other"), arguments that are not complete JSON show it, including empty ones, which otherwise mean "no
 * arguments".
 */
export function isCutOff({ message, finishReason }: ModelResponse): boolean {
  if (finishReason === "length") return true;
  return finishReason === "other" && message.toolCalls?.every(isWhole) === false;
}

function isWhole({ arguments: text }: ToolCall): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
