import type { JsonObject, ReasoningPart } from "@ravi/kernel";
import { field, isObject, stringOr, tryParse } from "@ravi/kernel/provider";

/**
 * What the Responses API needs back with the next turn and the kernel has no field for. It is stored as JSON in the `opaque` data
 * of a reasoning part. The server stores nothing, so all of it has to be sent.
 */
export interface Kept {
  /** The id of the reasoning item. */
  readonly id?: string | undefined;
  /** The reasoning, encrypted by the server. */
  readonly encrypted?: string | undefined;
  /** Whether the text of the part is the reasoning itself, as open models send it, and not a summary. */
  readonly open?: boolean | undefined;
  /** Whether it is no reasoning but what the server has compacted. */
  readonly compacted?: boolean | undefined;
  /** The number of tool calls before it. A reasoning item must come right before the item that followed from it. */
  readonly calls?: number | undefined;
  /** Of the next message: whether it was the answer or a remark on the way to it. */
  readonly phase?: string | undefined;
}

/** The reasoning part to keep. It has `opaque` data only if the server needs that back. */
export function keep(provider: string, text: string, kept: Kept): ReasoningPart {
  const { encrypted, open, phase } = kept;
  if (encrypted === undefined && open === undefined && phase === undefined)
    return { type: "reasoning", text };
  return { type: "reasoning", text, opaque: { provider, data: JSON.stringify(kept) } };
}

/** Reads it back. Undefined if it belongs to another provider or is not valid. */
export function keptIn({ opaque }: ReasoningPart, provider: string): Kept | undefined {
  if (opaque === undefined || opaque.provider !== provider) return undefined;
  const data = tryParse(opaque.data);
  if (!isObject(data)) return undefined;
  const calls = field(data, "calls");
  return {
    id: stringOr(field(data, "id"), undefined),
    encrypted: stringOr(field(data, "encrypted"), undefined),
    open: field(data, "open") === true ? true : undefined,
    compacted: field(data, "compacted") === true ? true : undefined,
    calls: typeof calls === "number" ? calls : undefined,
    phase: stringOr(field(data, "phase"), undefined),
  };
}

/** The reasoning item for a part; undefined if the server could not use it. */
export function reasoningItem(text: string, kept: Kept): JsonObject | undefined {
  const { id, encrypted, open, compacted } = kept;
  if (encrypted === undefined && open === undefined) return undefined;
  if (compacted === true)
    return { type: "compaction", ...(id === undefined ? {} : { id }), encrypted_content: encrypted ?? "" };
  const isOpen = open === true && text !== "";
  return {
    type: "reasoning",
    ...(id === undefined ? {} : { id }),
    summary: isOpen || text === "" ? [] : [{ type: "summary_text", text }],
    ...(isOpen ? { content: [{ type: "reasoning_text", text }] } : {}),
    ...(encrypted === undefined ? {} : { encrypted_content: encrypted }),
  };
}
