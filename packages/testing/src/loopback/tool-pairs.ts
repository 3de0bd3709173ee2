import type { ChatMessage } from "@ravi/kernel";

/**
 * Finds what a real server refuses: a tool result without a call before it, or a call without a result after it. Returns the
 * problem, or undefined. Ids need to be unique only within one answer.
 */
export function findUnpaired(messages: readonly ChatMessage[]): string | undefined {
  let open: string[] = [];
  for (const [index, message] of messages.entries()) {
    if (message.role === "tool") {
      const at = open.indexOf(message.toolCallId);
      if (at === -1) {
        return `messages[${index}]: messages with role 'tool' must be a response to a preceding message with 'tool_calls' (tool_call_id ${message.toolCallId})`;
      }
      open.splice(at, 1);
      continue;
    }
    if (open.length > 0) return unanswered(index, open);
    open = message.role === "assistant" ? (message.toolCalls ?? []).map((call) => call.id) : [];
  }
  return open.length > 0 ? unanswered(messages.length, open) : undefined;
}

function unanswered(index: number, ids: readonly string[]): string {
  return `messages[${index}]: an assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'; missing: ${ids.join(", ")}`;
}
