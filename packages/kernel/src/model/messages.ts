// Type aliases and not interfaces: an alias fits `JsonValue`, and a message is plain JSON.

/** A conversation as plain JSON. What a provider cannot express is translated by its adapter. */
export type ChatMessage = SystemMessage | UserMessage | AssistantMessage | ToolMessage;

export type SystemMessage = {
  readonly role: "system";
  readonly content: string;
};

export type UserMessage = {
  readonly role: "user";
  readonly content: string | readonly ContentPart[];
  readonly name?: string | undefined;
};

export type AssistantMessage = {
  readonly role: "assistant";
  readonly content: string | readonly ContentPart[];
  readonly toolCalls?: readonly ToolCall[] | undefined;
};

export type ToolMessage = {
  readonly role: "tool";
  readonly toolCallId: string;
  readonly name: string;
  readonly content: string | readonly ContentPart[];
  readonly isError?: boolean | undefined;
};

export type ToolCall = {
  readonly id: string;
  readonly name: string;
  /** JSON as the model wrote it, so that it goes back byte for byte; it may be broken or hostile until parsed. */
  readonly arguments: string;
  /** What the provider needs back with this call (a signature of the thought behind it), readable only to it. */
  readonly opaque?: { readonly provider: string; readonly data: string } | undefined;
};

export type ContentPart = TextPart | ImagePart | FilePart | ReasoningPart;

export type TextPart = {
  readonly type: "text";
  readonly text: string;
};

export type ImagePart = {
  readonly type: "image";
  /** A URL, or a `data:` URL with the bytes. */
  readonly url: string;
  readonly mediaType?: string | undefined;
};

export type FilePart = {
  readonly type: "file";
  /** A URL, or a `data:` URL with the bytes. */
  readonly url: string;
  readonly mediaType: string;
  readonly name?: string | undefined;
};

export type ReasoningPart = {
  readonly type: "reasoning";
  readonly text: string;
  /** What the provider needs back with the next turn (a signature, an encrypted body), readable only to it. */
  readonly opaque?: { readonly provider: string; readonly data: string } | undefined;
};

/** The plain text of a message; images, files and reasoning are left out. */
export function textOf(message: Pick<ChatMessage, "content">): string {
  const { content } = message;
  if (typeof content === "string") return content;
  return content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
}
