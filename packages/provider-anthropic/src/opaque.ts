import type { ContentBlockParam } from "@anthropic-ai/sdk/resources/messages";
import type { ReasoningPart } from "@ravi/kernel";
import { countIn, type Fields, fieldsOf, textIn, tryParse } from "@ravi/kernel/provider";
import { fingerprint } from "./fingerprint.ts";

/**
 * Blocks that only Anthropic can read and that must be sent back unchanged: signed thinking, encrypted thinking, the calls and
 * results of tools that run on Anthropic's servers, and what the server has compacted.
 */

/**
 * The part that keeps such a block in a conversation, and how many tool calls came before it: the server refuses thoughts that are not in
 * their place. The text is not stored twice; a fingerprint notices if it is changed.
 */
export function opaquePart(block: Fields, provider: string, calls = 0): ReasoningPart | undefined {
  const text = block["type"] === "thinking" ? (textIn(block["thinking"]) ?? "") : "";
  const kept = keptOf(block, text);
  if (kept["signature"] === "" && text === "") return undefined;
  return partOf(text, kept, provider, calls);
}

/** Keeps only how many tool calls came before the text that follows. */
export function placePart(provider: string, calls: number): ReasoningPart {
  return partOf("", { type: PLACE }, provider, calls);
}

const PLACE = "place";
/** The name must not be that of a field of a block. */
const CALLS = "ravi_calls_before";

function partOf(text: string, kept: Fields, provider: string, calls: number): ReasoningPart {
  const data = JSON.stringify(calls === 0 ? kept : { ...kept, [CALLS]: calls });
  return { type: "reasoning", text, opaque: { provider, data } };
}

function keptOf(block: Fields, text: string): Fields {
  if (block["type"] !== "thinking") return block;
  return { type: "thinking", signature: textIn(block["signature"]) ?? "", of: fingerprint(text) };
}

/** What a part keeps. */
export interface Kept {
  /** Undefined if there is nothing to send: it is only a place, or its text no longer is the signed one. */
  readonly block: ContentBlockParam | undefined;
  readonly isPlace: boolean;
  /** How many tool calls came before it. */
  readonly calls: number;
}

/**
 * Reads it back; undefined if it is not of this provider. Unsigned thinking is sent back only to servers other than Anthropic's: some of
 * them require it.
 */
export function readOpaque(part: ReasoningPart, provider: string, isOwn = true): Kept | undefined {
  if (part.opaque?.provider !== provider) return undefined;
  const { [CALLS]: calls, ...kept } = fieldsOf(tryParse(part.opaque.data));
  return {
    block: blockOf(kept, part, isOwn),
    isPlace: kept["type"] === PLACE,
    calls: countIn(calls) ?? 0,
  };
}

function blockOf(kept: Fields, part: ReasoningPart, isOwn: boolean): ContentBlockParam | undefined {
  const { type, signature, of, data } = kept;
  switch (type) {
    case "thinking":
      return typeof signature === "string" && (signature !== "" || !isOwn) && of === fingerprintOf(part)
        ? { type, thinking: part.text, signature }
        : undefined;
    case "redacted_thinking":
      return typeof data === "string" && data !== "" ? { type, data } : undefined;
    default:
      return isServerBlock(kept) ? kept : undefined;
  }
}

/** Whether it is a block that Anthropic's servers made. Calls of the agent's own tools are in `toolCalls` instead. */
function isServerBlock(block: object): block is ContentBlockParam {
  const { type } = fieldsOf(block);
  return (
    typeof type === "string" &&
    /^(?:(?:server|mcp)_tool_use|mcp_tool_listing|\w+_tool_result|container_upload|compaction|fallback)$/.test(
      type,
    )
  );
}

/** A thought is sent with every later request, so its fingerprint is computed once. */
const known = new WeakMap<ReasoningPart, { readonly text: string; readonly of: string }>();

function fingerprintOf(part: ReasoningPart): string {
  const { text } = part;
  const last = known.get(part);
  if (last?.text === text) return last.of;
  const of = fingerprint(text);
  known.set(part, { text, of });
  return of;
}
