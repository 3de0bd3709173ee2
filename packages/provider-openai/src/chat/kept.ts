import type { AssistantMessage, ContentPart, ReasoningPart, ToolCall } from "@ravi/kernel";
import { type Fields, field, isObject, listOf, plainId, textIn, tryParse } from "@ravi/kernel/provider";

/**
 * What compatible servers want back with the next turn, and refuse the conversation without: the reasoning behind a call, in
 * the field that it came in (DeepSeek, Moonshot), or sealed or signed (OpenRouter), and the signature of a call (Gemini).
 */

/** The fields in which servers send reasoning as text. */
export const THOUGHT_FIELDS = ["reasoning_content", "reasoning"] as const;
export type ThoughtField = (typeof THOUGHT_FIELDS)[number];

/** All that is sent back in an assistant's message and is no field of the protocol. */
export const KEPT_FIELDS = [...THOUGHT_FIELDS, "reasoning_details"] as const;

export interface Thought {
  readonly text: string;
  /** Undefined where it came as a part of the content. */
  readonly sentAs: ThoughtField | undefined;
  /** The same in pieces, each with what the server knows it by. */
  readonly details: readonly Fields[];
}

/** The part that carries it; none where nothing was thought. */
export function thoughtPart({ text, sentAs, details }: Thought, provider: string): ReasoningPart[] {
  const isSealed = details.some((detail) => (detail["signature"] ?? detail["data"] ?? null) !== null);
  if (text === "" && !isSealed) return [];
  if (sentAs === undefined && !isSealed) return [{ type: "reasoning", text }];
  // The text is not kept twice, but a change of it is noticed.
  const textAt = details.findIndex((detail) => detail["text"] === text);
  const kept = details.map((detail, at) => (at === textAt ? { ...detail, text: undefined } : detail));
  const data = JSON.stringify(isSealed ? { details: kept, textAt, of: markOf(text) } : { sentAs });
  return [{ type: "reasoning", text, opaque: { provider, data } }];
}

/** Whether a part goes back to this server. */
export function isKept(part: ContentPart, provider: string): boolean {
  return part.type === "reasoning" && keptIn(part, provider) !== undefined;
}

/** The fields of an assistant's message that carry its reasoning back. */
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
  /** `textAt`: which of them has the text of the part. */
  | { readonly details: readonly Fields[]; readonly textAt: unknown };

/** Undefined where there is none of this server, or its text is no longer the signed one: the server would refuse that. */
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

/** 64 bits, enough to notice a redaction; the signature is what guards against more. */
function markOf(text: string): string {
  return plainId(text, 17);
}

/** What a server sent along with a call, for the same call when it goes back. */
export function callKeepsake(extra: unknown, provider: string): Pick<ToolCall, "opaque"> {
  return isObject(extra) ? { opaque: { provider, data: JSON.stringify({ extra_content: extra }) } } : {};
}

export function keptWithCall({ opaque }: ToolCall, provider: string): Fields {
  const extra = opaque?.provider === provider ? field(tryParse(opaque.data), "extra_content") : undefined;
  return isObject(extra) ? { extra_content: extra } : {};
}
