import type { ChatMessage, ToolCall, ToolMessage } from "../model/messages.ts";

/**
 * A conversation as servers demand it: directly after a message with calls come the results of all of them. A call without a result, as after
 * an abort, gets one that says so, and what was said meanwhile follows the results. Calls that nothing follows are left as they are.
 */
export function pairedCalls(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const paired: ChatMessage[] = [];
  let open: ToolCall[] = [];
  let meanwhile: ChatMessage[] = [];
  const close = (): void => {
    paired.push(...open.map(unfinished), ...meanwhile);
    open = [];
    meanwhile = [];
  };
  for (const message of messages) {
    if (message.role === "assistant") {
      close();
      paired.push(message);
      open = [...(message.toolCalls ?? [])];
      continue;
    }
    const at = message.role === "tool" ? open.findIndex(({ id }) => id === message.toolCallId) : -1;
    if (at === -1) {
      (open.length === 0 ? paired : meanwhile).push(message);
      continue;
    }
    open.splice(at, 1);
    paired.push(message);
    if (open.length === 0) close();
  }
  if (messages.at(-1)?.role !== "assistant") close();
  return paired;
}

function unfinished({ id, name }: ToolCall): ToolMessage {
  const content = "There is no result: the call was not finished.";
  return { role: "tool", toolCallId: id, name, content, isError: true };
}
