import type { ReasoningPart } from "@ravi/kernel";
import { field, isObject, stringOr } from "@ravi/kernel/provider";

/**
 * What a provider of the AI SDK wants back with the next turn: the metadata of a piece of reasoning, or of a tool call. The
 * kernel's messages have one place for such things, the opaque data of a reasoning part.
 */
export interface Keepsake {
  readonly metadata: object | undefined;
  readonly toolCallId: string | undefined;
}

/** Also where there is no metadata: it says whose reasoning this is. */
export function reasoningKeepsake(text: string, tag: string, metadata: unknown): ReasoningPart {
  const data = JSON.stringify(isObject(metadata) ? { metadata } : {});
  return { type: "reasoning", text, opaque: { provider: tag, data } };
}

/** Undefined where the provider wants nothing back. */
export function toolCallKeepsake(
  toolCallId: string,
  tag: string,
  metadata: unknown,
): ReasoningPart | undefined {
  if (!isObject(metadata) || Object.keys(metadata).length === 0) return undefined;
  return {
    type: "reasoning",
    text: "",
    opaque: { provider: tag, data: JSON.stringify({ metadata, toolCallId }) },
  };
}

export function openKeepsake(data: string): Keepsake {
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch {
    // A message that somebody edited: without its keepsake it is still a message.
  }
  const metadata = field(value, "metadata");
  return {
    metadata: isObject(metadata) ? metadata : undefined,
    toolCallId: stringOr(field(value, "toolCallId"), undefined),
  };
}
