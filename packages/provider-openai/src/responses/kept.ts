import type { JsonObject, ReasoningPart } from "@ravi/kernel";
import { field, isObject, stringOr, tryParse } from "@ravi/kernel/provider";

/**
 * What the Responses API needs back with the next turn and the kernel has no word for. It travels in the `opaque` data of a
 * reasoning part, as JSON. Nothing is kept on the server, so all of it has to come along.
 */
export interface Kept {
  /** Of a reasoning item. */
  readonly id?: string | undefined;
  /** The reasoning, sealed by the server. */
  readonly encrypted?: string | undefined;
  /** The text of the part is the reasoning itself, as open models send it, and not a summary of it. */
  readonly open?: boolean | undefined;
  /** How many of the tool calls came before it: a reasoning item belongs right before what followed from it. */
  readonly calls?: number | undefined;
  /** Of the message that follows: whether it was meant as an answer or as a remark on the way to it. */
  readonly phase?: string | undefined;
}

/** The part that carries it; only its text where the server would have no use for the rest. */
export function keep(provider: string, text: string, kept: Kept): ReasoningPart {
  const { encrypted, open, phase } = kept;
  if (encrypted === undefined && open === undefined && phase === undefined)
    return { type: "reasoning", text };
  return { type: "reasoning", text, opaque: { provider, data: JSON.stringify(kept) } };
}

/** Undefined where it belongs to somebody else, or cannot be read. */
export function keptIn({ opaque }: ReasoningPart, provider: string): Kept | undefined {
  if (opaque === undefined || opaque.provider !== provider) return undefined;
  const data = tryParse(opaque.data);
  if (!isObject(data)) return undefined;
  const calls = field(data, "calls");
  return {
    id: stringOr(field(data, "id"), undefined),
    encrypted: stringOr(field(data, "encrypted"), undefined),
    open: field(data, "open") === true ? true : undefined,
    calls: typeof calls === "number" ? calls : undefined,
    phase: stringOr(field(data, "phase"), undefined),
  };
}

/** The reasoning item that a part stands for; undefined where the server could make nothing of it. */
export function reasoningItem(text: string, kept: Kept): JsonObject | undefined {
  const { id, encrypted, open } = kept;
  if (encrypted === undefined && open === undefined) return undefined;
  const isOpen = open === true && text !== "";
  return {
    type: "reasoning",
    ...(id === undefined ? {} : { id }),
    summary: isOpen || text === "" ? [] : [{ type: "summary_text", text }],
    ...(isOpen ? { content: [{ type: "reasoning_text", text }] } : {}),
    ...(encrypted === undefined ? {} : { encrypted_content: encrypted }),
  };
}
