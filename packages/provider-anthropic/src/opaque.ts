import type { ContentBlockParam } from "@anthropic-ai/sdk/resources/messages";
import type { ReasoningPart } from "@ravi/kernel";
import { type Fields, fieldsOf, isObject, textIn, tryParse } from "@ravi/kernel/provider";
import { fingerprint } from "./fingerprint.ts";

/**
 * Blocks that only Anthropic can read and that have to come back unchanged: thinking with its signature, thinking that was
 * encrypted, and the calls and results of tools that run on Anthropic's servers.
 */

/** The part that carries such a block through a conversation. The text is not kept twice, but a change of it is noticed. */
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
 * The block that a part carries; undefined where there is none of this provider, or its text is no longer the signed one. Only
 * servers that are not Anthropic's own think without signing it, and some of them want it back all the same.
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

/** What Anthropic's own tools leave in an answer; never a call of ours, which has its place in `toolCalls`. */
function isServerBlock(block: object): block is ContentBlockParam {
  const { type } = fieldsOf(block);
  return (
    typeof type === "string" &&
    /^(?:(?:server|mcp)_tool_use|mcp_tool_listing|\w+_tool_result|container_upload)$/.test(type)
  );
}

/** A thought goes out with every request after it; its fingerprint is made once. */
const known = new WeakMap<ReasoningPart, { readonly text: string; readonly of: string }>();

function fingerprintOf(part: ReasoningPart): string {
  const { text } = part;
  const last = known.get(part);
  if (last?.text === text) return last.of;
  const of = fingerprint(text);
  known.set(part, { text, of });
  return of;
}
