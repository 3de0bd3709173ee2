import type { ContentBlockParam } from "@anthropic-ai/sdk/resources/messages";
import type { ReasoningPart } from "@ravi/kernel";
import { type Fields, fieldsOf, isObject, textIn, tryParse } from "@ravi/kernel/provider";
import { fingerprint } from "./fingerprint.ts";

/**
 * Blocks that only Anthropic can read and that must be sent back unchanged: signed thinking, encrypted thinking, the calls and
 * results of tools that run on Anthropic's servers, and what the server has compacted.
 */

/** The part that keeps such a block in a conversation. The text is not stored twice; a fingerprint notices if it is changed. */
export function opaquePart(block: Fields, provider: string): ReasoningPart | undefined {
  const text = block["type"] === "thinking" ? (textIn(block["thinking"]) ?? "") : "";
  const kept = keptOf(block, text);
  if (kept["signature"] === "" && text === "") return undefined;
  return { type: "reasoning", text, opaque: { provider, data: JSON.stringify(kept) } };
}

function keptOf(block: Fields, text: string): Fields {
  if (block["type"] !== "thinking") return block;
  return { type: "thinking", signature: textIn(block["signature"]) ?? "", of: fingerprint(text) };
}

/**
 * The block that a part keeps; undefined if it is not of this provider, or if its text no longer is the signed one. Unsigned
 * thinking is sent back only to servers other than Anthropic's: some of them require it.
 */
export function opaqueBlock(
  part: ReasoningPart,
  provider: string,
  isOwn = true,
): ContentBlockParam | undefined {
  if (part.opaque?.provider !== provider) return undefined;
  const kept = tryParse(part.opaque.data);
  const { type, signature, of, data } = fieldsOf(kept);
  switch (type) {
    case "thinking":
      return typeof signature === "string" && (signature !== "" || !isOwn) && of === fingerprintOf(part)
        ? { type, thinking: part.text, signature }
        : undefined;
    case "redacted_thinking":
      return typeof data === "string" && data !== "" ? { type, data } : undefined;
    default:
      return isObject(kept) && isServerBlock(kept) ? kept : undefined;
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
