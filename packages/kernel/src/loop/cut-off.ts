import type { ModelResponse } from "../model/llm.ts";
import type { ToolCall } from "../model/messages.ts";

/**
 * Whether an answer was broken off, so that none of the calls in it is made: what is there of the last of them may look whole. Where a
 * server ends it with a word that nobody knows, a call whose arguments are not whole tells; empty ones, which stand for none, too.
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
