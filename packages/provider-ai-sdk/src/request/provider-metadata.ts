import type { ReasoningPart, ToolCall } from "@ravi/kernel";
import { field, isObject, tryParse, withoutField } from "@ravi/kernel/provider";

/** The data of a reasoning part or of a tool call that a provider of the AI SDK needs back with the next turn. */
export type OpaqueMetadata = NonNullable<(ReasoningPart | ToolCall)["opaque"]>;

/** What is kept in it. */
export interface Kept {
  readonly metadata?: object | undefined;
  /** The number of tool calls before it. */
  readonly calls?: number | undefined;
  /** The model that alone can read it; undefined if others of the provider can, too. */
  readonly model?: string | undefined;
  /** The metadata are those of a text: of the one that follows, or of this one, which is not part of the answer. */
  readonly of?: "next text" | { readonly text: string } | undefined;
}

/** Marks the provider that it belongs to, such as `ai-sdk/openai.responses`. */
export function tagOf(provider: string): string {
  return `ai-sdk/${provider}`;
}

/** Always the tag at least, which marks whose part this is. */
export function keep(tag: string, { metadata, calls, of, model }: Kept): OpaqueMetadata {
  const data = { metadata, calls: calls === 0 ? undefined : calls, of, model };
  return { provider: tag, data: JSON.stringify(data) };
}

/** Fields of what is signed or encrypted for its model, or kept for it at the server: another model would refuse it. */
const BOUND = ["signature", "redactedData", "reasoningEncryptedContent", "itemId"];

/** Whether only the model that made it can read it, as thoughts of Anthropic and of OpenAI. */
export function isBound(metadata: object | undefined): boolean {
  return Object.values(metadata ?? {}).some((own) =>
    BOUND.some((name) => typeof field(own, name) === "string"),
  );
}

/** Undefined if the provider needs nothing back. */
export function toolCallMetadata(tag: string, metadata: unknown): OpaqueMetadata | undefined {
  const isEmpty = !isObject(metadata) || Object.keys(metadata).length === 0;
  return isEmpty ? undefined : keep(tag, { metadata });
}

/** Undefined if it belongs to another provider. Without what was edited and is not valid any more: the part can be sent so. */
export function keptIn(opaque: OpaqueMetadata | undefined, tag: string): Kept | undefined {
  if (opaque === undefined || opaque.provider !== tag) return undefined;
  const data = tryParse(opaque.data);
  const metadata = field(data, "metadata");
  const calls = field(data, "calls");
  const of = field(data, "of");
  const text = field(of, "text");
  const model = field(data, "model");
  return {
    metadata: isObject(metadata) ? metadata : undefined,
    calls: typeof calls === "number" ? calls : undefined,
    model: typeof model === "string" ? model : undefined,
    of: of === "next text" ? of : typeof text === "string" ? { text } : undefined,
  };
}

/** The provider options to send with the part. */
export function metadataOptions(kept: Kept | undefined): { readonly providerOptions?: object } {
  return kept?.metadata === undefined ? {} : { providerOptions: kept.metadata };
}

/** The same for a text, which any model can read. Not where the server keeps it: there it belongs to the thoughts before it. */
export function textOptions(kept: Kept | undefined, modelId: string): { readonly providerOptions?: object } {
  const { metadata, model = modelId } = kept ?? {};
  if (metadata === undefined || model === modelId) return metadataOptions(kept);
  const providerOptions: Record<string, unknown> = {};
  for (const [name, own] of Object.entries(metadata))
    providerOptions[name] = isObject(own) ? withoutField(own, "itemId") : own;
  return { providerOptions };
}

/**
 * The metadata of a text if the provider needs them back: Gemini's signature, whether it was a remark or the answer (OpenAI), or that
 * it is what the server has compacted (Anthropic).
 */
export function textMetadata(metadata: unknown): object | undefined {
  if (!isObject(metadata)) return undefined;
  const isNeeded = Object.values(metadata).some(
    (own) => typeof field(own, "thoughtSignature") === "string" || typeof field(own, "phase") === "string",
  );
  return isNeeded || isCompaction(metadata) ? metadata : undefined;
}

/** Whether the text is not an answer but a summary of the conversation, made by the server. */
export function isCompaction(metadata: object | undefined): boolean {
  return Object.values(metadata ?? {}).some((own) => field(own, "type") === "compaction");
}
