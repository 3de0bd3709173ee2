import type { ReasoningPart, ToolCall } from "@ravi/kernel";
import { field, isObject, tryParse } from "@ravi/kernel/provider";

/** What a provider of the AI SDK wants back with the next turn: the metadata of a piece of reasoning, or of a tool call. */
export type Keepsake = NonNullable<(ReasoningPart | ToolCall)["opaque"]>;

/** Whose it is: `ai-sdk/openai.responses`, say. */
export function tagOf(provider: string): string {
  return `ai-sdk/${provider}`;
}

/** Also where there is no metadata: it says whose reasoning this is. */
export function reasoningKeepsake(tag: string, metadata: unknown): Keepsake {
  return { provider: tag, data: JSON.stringify(isObject(metadata) ? { metadata } : {}) };
}

/** Undefined where the provider wants nothing back. */
export function toolCallKeepsake(tag: string, metadata: unknown): Keepsake | undefined {
  const isEmpty = !isObject(metadata) || Object.keys(metadata).length === 0;
  return isEmpty ? undefined : reasoningKeepsake(tag, metadata);
}

/** The settings to send along. None where a message was edited: without its keepsake it is still a message. */
export function keptOptions({ data }: Keepsake): { readonly providerOptions?: object } {
  const metadata = field(tryParse(data), "metadata");
  return isObject(metadata) ? { providerOptions: metadata } : {};
}
