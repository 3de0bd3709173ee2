import type { AssistantMessage, ContentPart, ReasoningPart, ToolCall } from "@ravi/kernel";
import { type Fields, field, isObject, listOf, plainId, textIn, tryParse } from "@ravi/kernel/provider";

/**
 * Some compatible servers refuse the next turn unless it sends back what they sent with the last: the reasoning behind a call, in
 * the field that it came in (DeepSeek, Moonshot) or encrypted or signed (OpenRouter), and the signature of a call (Gemini). This
 * file stores that in `opaque` data and restores it.
 */

/** The fields in which servers send reasoning as text. */
export const THOUGHT_FIELDS = ["reasoning_content", "reasoning"] as const;
export type ThoughtField = (typeof THOUGHT_FIELDS)[number];

/** All fields of an assistant message that are sent back and are not part of the protocol. */
export const KEPT_FIELDS = [...THOUGHT_FIELDS, "reasoning_details"] as const;

export interface Thought {
  readonly text: string;
  /** The field that it came in; undefined if it came as a part of the content. */
  readonly sentAs: ThoughtField | undefined;
  /** The same reasoning as `reasoning_details`, with the server's ids and signatures. */
  readonly details: readonly Fields[];
}

/** The reasoning part to keep in the message; an empty list if there was no reasoning. */
export function thoughtPart({ text, sentAs, details }: Thought, provider: string): ReasoningPart[] {
  const isSealed = details.some((detail) => (detail["signature"] ?? detail["data"] ?? null) !== null);
  if (text === "" && !isSealed) return [];
  if (sentAs === undefined && !isSealed) return [{ type: "reasoning", text }];
  // The text is not stored twice. A hash of it is, to notice if somebody changed it.
  const textAt = details.findIndex((detail) => detail["text"] === text);
  const kept = details.map((detail, at) => (at === textAt ? { ...detail, text: undefined } : detail));
  const data = JSON.stringify(isSealed ? { details: kept, textAt, of: markOf(text) } : { sentAs });
  return [{ type: "reasoning", text, opaque: { provider, data } }];
}

/** Whether the part is sent back to this server. */
export function isKept(part: ContentPart, provider: string): boolean {
  return part.type === "reasoning" && keptIn(part, provider) !== undefined;
}

/** The extra fields of an assistant message that send its reasoning back. */
export function keptFields({ content }: AssistantMessage, provider: string): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const part of typeof content === "string" ? [] : content) {
    const kept = part.type === "reasoning" ? keptIn(part, provider) : undefined;
    if (part.type !== "reasoning" || kept === undefined) continue;
    if ("sentAs" in kept) fields[kept.sentAs] = `${textIn(fields[kept.sentAs]) ?? ""}${part.text}`;
    else {
      const details = kept.details.map((detail, at) =>
        at === kept.textAt ? { ...detail, text: part.text } : detail,
      );
      fields["reasoning_details"] = [...listOf(fields["reasoning_details"]), ...details];
    }
  }
  return fields;
}

type Kept =
  | { readonly sentAs: ThoughtField }
  /** `textAt` is the index of the detail whose text is the text of the part. */
  | { readonly details: readonly Fields[]; readonly textAt: unknown };

/** Undefined if there is nothing for this server, or if the text no longer is the signed one: the server would refuse it. */
function keptIn({ text, opaque }: ReasoningPart, provider: string): Kept | undefined {
  if (opaque?.provider !== provider) return undefined;
  const data = tryParse(opaque.data);
  const details = listOf(field(data, "details")).filter(isObject);
  const of = field(data, "of");
  if (details.length > 0)
    return of === undefined || of === markOf(text) ? { details, textAt: field(data, "textAt") } : undefined;
  const sentAs = THOUGHT_FIELDS.find((name) => name === field(data, "sentAs"));
  return sentAs === undefined ? undefined : { sentAs };
}

/** 64 bits, enough to notice a redaction. The server's own signature protects against deliberate changes. */
function markOf(text: string): string {
  return plainId(text, 17);
}

/** Stores the `extra_content` that a server sent with a call, to be sent back with the same call. */
export function opaqueOf(extra: unknown, provider: string): Pick<ToolCall, "opaque"> {
  return isObject(extra) ? { opaque: { provider, data: JSON.stringify({ extra_content: extra }) } } : {};
}

/** The `extra_content` that this server sent with the call, if there was any. */
export function keptWithCall({ opaque }: ToolCall, provider: string): Fields {
  const extra = opaque?.provider === provider ? field(tryParse(opaque.data), "extra_content") : undefined;
  return isObject(extra) ? { extra_content: extra } : {};
}
