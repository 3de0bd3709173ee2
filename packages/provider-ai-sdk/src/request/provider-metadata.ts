import type { ReasoningPart, ToolCall } from "@ravi/kernel";
import { field, isObject, tryParse } from "@ravi/kernel/provider";

/** The metadata of a piece of reasoning or of a tool call that a provider of the AI SDK needs back with the next turn. */
export type OpaqueMetadata = NonNullable<(ReasoningPart | ToolCall)["opaque"]>;

/** Marks the provider that it belongs to, such as `ai-sdk/openai.responses`. */
export function tagOf(provider: string): string {
  return `ai-sdk/${provider}`;
}

/** Always present, even without metadata, because it marks whose reasoning this is. */
export function reasoningMetadata(tag: string, metadata: unknown): OpaqueMetadata {
  return { provider: tag, data: JSON.stringify(isObject(metadata) ? { metadata } : {}) };
}

/** Undefined if the provider needs nothing back. */
export function toolCallMetadata(tag: string, metadata: unknown): OpaqueMetadata | undefined {
  const isEmpty = !isObject(metadata) || Object.keys(metadata).length === 0;
  return isEmpty ? undefined : reasoningMetadata(tag, metadata);
}

/**
 * The provider options to send with the part. Empty if the data was edited and is not valid any more: the part can be sent without.
 */
export function metadataOptions({ data }: OpaqueMetadata): { readonly providerOptions?: object } {
  const metadata = field(tryParse(data), "metadata");
  return isObject(metadata) ? { providerOptions: metadata } : {};
}
