import type { AssistantMessage, ContentPart, TextPart, ToolCall } from "@ravi/kernel";
import { argumentText, field, isObject, listOf, stringOr, textIn } from "@ravi/kernel/provider";
import { keep } from "./kept.ts";

/** The items that the kernel can represent. Items of tools that run at the server are not among them. */
export type OutputItem =
  | {
      readonly type: "message";
      readonly text: string;
      readonly refused: boolean;
      readonly phase: string | undefined;
    }
  | {
      readonly type: "reasoning";
      readonly text: string;
      /** Whether the text is the reasoning itself and not a summary. */
      readonly isOpen: boolean;
      /** Whether it is no reasoning but what the server has compacted. It is sealed and kept in the same way. */
      readonly isCompacted: boolean;
      readonly id: string | undefined;
      readonly encrypted: string | undefined;
    }
  | {
      readonly type: "function_call";
      readonly callId: string | undefined;
      readonly name: string | undefined;
      readonly arguments: string;
      readonly isCut: boolean;
    };

/** Reads one item of a response; undefined for types that are not represented. */
export function readItem(item: unknown): OutputItem | undefined {
  switch (field(item, "type")) {
    case "message":
      return readMessage(item);
    case "reasoning":
    case "compaction":
      return readReasoning(item);
    case "function_call":
      return {
        type: "function_call",
        callId: textIn(field(item, "call_id")),
        name: textIn(field(item, "name")),
        arguments: argumentText(field(item, "arguments")),
        isCut: field(item, "status") === "incomplete",
      };
    default:
      return undefined;
  }
}

function readMessage(item: unknown): OutputItem {
  const content = field(item, "content");
  let text = typeof content === "string" ? content : "";
  let refused = false;
  for (const part of listOf(content)) {
    const refusal = field(part, "refusal");
    if (typeof refusal === "string") refused = true;
    text += stringOr(refusal, stringOr(field(part, "text"), ""));
  }
  return { type: "message", text, refused, phase: textIn(field(item, "phase")) };
}

/** Separates the parts of a summary. */
export const PARAGRAPH = "\n\n";

function readReasoning(item: unknown): OutputItem {
  const summary = textsOf(field(item, "summary"));
  const content = textsOf(field(item, "content"));
  return {
    type: "reasoning",
    text: summary === "" ? content : summary,
    isOpen: summary === "" && content !== "",
    isCompacted: field(item, "type") === "compaction",
    id: textIn(field(item, "id")),
    encrypted: textIn(field(item, "encrypted_content")),
  };
}

function textsOf(parts: unknown): string {
  return listOf(parts)
    .filter(isObject)
    .map((part) => stringOr(field(part, "text"), ""))
    .join(PARAGRAPH);
}

/** Builds the message from its items. `callIds` are the ids under which the calls were announced. */
export function messageOf(
  items: readonly OutputItem[],
  callIds: readonly string[],
  provider: string,
): AssistantMessage {
  const parts: ContentPart[] = [];
  const toolCalls: ToolCall[] = [];
  for (const item of items) {
    if (item.type === "function_call") {
      const id = callIds[toolCalls.length] ?? "";
      toolCalls.push({ id, name: item.name ?? "", arguments: item.arguments });
    } else if (item.type === "reasoning") {
      const calls = toolCalls.length === 0 ? undefined : toolCalls.length;
      const { id, encrypted } = item;
      const open = item.isOpen ? true : undefined;
      const compacted = item.isCompacted ? true : undefined;
      const part = keep(provider, item.text, { id, encrypted, open, compacted, calls });
      if (part.text !== "" || part.opaque !== undefined) parts.push(part);
    } else if (item.text !== "") {
      if (item.phase !== undefined) parts.push(keep(provider, "", { phase: item.phase }));
      parts.push({ type: "text", text: item.text });
    }
  }
  return {
    role: "assistant",
    content: parts.every((part): part is TextPart => part.type === "text")
      ? parts.map((part) => part.text).join("")
      : parts,
    ...(toolCalls.length === 0 ? {} : { toolCalls }),
  };
}
