import { type ChatMessage, textOf } from "@ravi/kernel";

/** What the strictest provider asks of a prompt, written apart from the code that makes it so. */
export function problemWith(messages: readonly ChatMessage[]): string | undefined {
  const ids = new Set<string>();
  let due: string[] = [];
  let last: ChatMessage["role"] | undefined;
  for (const [at, message] of messages.entries()) {
    const { role } = message;
    if (role === "system" && at > 0) return "a system prompt that is not the first";
    if (role === "tool") {
      const place = due.indexOf(message.toolCallId);
      if (place === -1) return `a result for ${message.toolCallId}, which nobody asked for`;
      due.splice(place, 1);
      last = role;
      continue;
    }
    if (due.length > 0) return `${due.join()} has no result`;
    const calls = role === "assistant" ? (message.toolCalls ?? []) : [];
    if (role === "assistant" && last === "assistant") return "two answers in a row";
    const isPlain =
      typeof message.content === "string" || message.content.every(({ type }) => type === "text");
    if (calls.length === 0 && isPlain && textOf(message).trim() === "")
      return `nothing in a message of ${role}`;
    due = calls.map(({ id }) => id);
    for (const id of due) {
      if (id === "") return "a call without an id";
      if (ids.has(id)) return `${id} is used twice`;
      ids.add(id);
    }
    last = role;
  }
  return due.length > 0 ? `${due.join()} has no result at the end` : undefined;
}
