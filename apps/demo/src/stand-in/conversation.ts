import { type ModelRequest, parseJson, textOf } from "@ravi/kernel";

/** One tool call of a conversation, with its result. */
export interface Exchange {
  readonly name: string;
  readonly argument: (field: string) => string;
  readonly result: string;
  /** The call failed, or returned a partial result only. */
  readonly isError: boolean;
}

/** What the stand-in model reads from a request: the task, the calls so far, and whether it has to finish. */
export interface Conversation {
  readonly task: string;
  readonly exchanges: readonly Exchange[];
  /** The request offers no tools, so this has to be the final answer. */
  readonly isLast: boolean;
}

export function readConversation({ messages, tools }: ModelRequest): Conversation {
  const first = messages.find(({ role }) => role === "user");
  const exchanges: Exchange[] = [];
  for (const [at, message] of messages.entries()) {
    if (message.role !== "assistant") continue;
    // Servers may reuse call ids, so a result is matched to its call by position.
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

/** All calls of one tool. */
export function of(conversation: Conversation, name: string): readonly Exchange[] {
  return conversation.exchanges.filter((exchange) => exchange.name === name);
}
