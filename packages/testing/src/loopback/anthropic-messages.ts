import { type ChatMessage, type ContentPart, type JsonValue, textOf } from "@ravi/kernel";
import { type Block, readBlocks, type Role } from "./anthropic-blocks.ts";
import { readOneOf, readOnly, wrong } from "./anthropic-fields.ts";
import { readList } from "./read-json.ts";

/** A turn of the conversation. Consecutive messages of the same role count as one, as with the real server. */
export interface Turn {
  readonly role: Role;
  /** The path of its first message, for errors. */
  readonly path: string;
  readonly blocks: Block[];
}

export function readTurns(value: JsonValue | undefined): readonly Turn[] {
  const list = readList(value, "messages");
  if (list.length === 0) throw wrong("messages", "at least one message is required");
  const turns: Turn[] = [];
  for (const [at, item] of list.entries()) {
    const path = `messages.${at}`;
    const message = readOnly(item, path, ["role", "content"]);
    const role = readOneOf(message["role"], `${path}.role`, ["user", "assistant", "system"]);
    const blocks = readBlocks(message["content"], `${path}.content`, role);
    const last = turns.at(-1);
    if (role === "system" && (last === undefined || last.role === "assistant"))
      throw wrong(`${path}.role`, "a system message must follow a user message");
    if (last?.role === role) last.blocks.push(...blocks);
    else turns.push({ role, path, blocks: [...blocks] });
  }
  return turns;
}

/**
 * The turns as messages of the kernel. A user's turn with tool results becomes one message for each result, and one for the
 * rest.
 */
export function messagesOf(turns: readonly Turn[]): readonly ChatMessage[] {
  const names = new Map<string, string>();
  return turns.flatMap(({ role, blocks }): ChatMessage[] => {
    const calls = blocks.flatMap((block) => (block.type === "call" ? [block.call] : []));
    for (const { id, name } of calls) names.set(id, name);
    const parts = blocks.flatMap((block) => (block.type === "part" ? [block.part] : []));
    const content = contentOf(parts);
    if (role === "system") return [{ role, content: textOf({ content }) }];
    if (role === "assistant") {
      return [{ role, content, ...(calls.length === 0 ? {} : { toolCalls: calls }) }];
    }
    const results = blocks.flatMap((block): ChatMessage[] => {
      if (block.type !== "result") return [];
      const { id, isError } = block;
      const message = { role: "tool", toolCallId: id, name: names.get(id) ?? "" } as const;
      return [{ ...message, content: contentOf(block.content), ...(isError ? { isError } : {}) }];
    });
    return parts.length === 0 ? results : [...results, { role, content }];
  });
}

function contentOf(parts: readonly ContentPart[]): string | readonly ContentPart[] {
  const [only] = parts;
  if (only === undefined) return "";
  return parts.length === 1 && only.type === "text" ? only.text : parts;
}
