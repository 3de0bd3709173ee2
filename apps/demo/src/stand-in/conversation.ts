import { type ModelRequest, parseJson, textOf } from "@ravi/kernel";

/** One tool call of a conversation, with what came of it. */
export interface Exchange {
  readonly name: string;
  readonly argument: (field: string) => string;
  readonly result: string;
  /** It came to nothing, or to a part only. */
  readonly isError: boolean;
}

/** What a stand-in reads out of a request: the task, what was done so far, and whether it has to come to an end. */
export interface Conversation {
  readonly task: string;
  readonly exchanges: readonly Exchange[];
  /** No tools are offered any more: this is the last word. */
  readonly isLast: boolean;
}

export function readConversation({ messages, tools }: ModelRequest): Conversation {
  const first = messages.find(({ role }) => role === "user");
  const exchanges: Exchange[] = [];
  for (const [at, message] of messages.entries()) {
    if (message.role !== "assistant") continue;
    // Servers use the ids of calls again, so a result is found by its place.
    for (const [index, call] of (message.toolCalls ?? []).entries()) {
      const answer = messages[at + 1 + index];
      if (answer?.role !== "tool") continue;
      const result = textOf(answer);
      const isError = result.startsWith("error: ");
      exchanges.push({
        name: call.name,
        argument: (field) => argumentOf(call.arguments, field),
        result: isError ? result.slice("error: ".length) : result,
        isError,
      });
    }
  }
  return {
    task: first === undefined ? "" : textOf(first),
    exchanges,
    isLast: (tools ?? []).length === 0 && exchanges.length > 0,
  };
}

function argumentOf(text: string, field: string): string {
  const parsed = parseJson(text, "arguments");
  return typeof parsed === "object" && parsed !== null ? String(Reflect.get(parsed, field) ?? "") : "";
}

export function of(conversation: Conversation, name: string): readonly Exchange[] {
  return conversation.exchanges.filter((exchange) => exchange.name === name);
}
