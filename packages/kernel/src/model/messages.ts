// Type aliases and not interfaces: only an alias is assignable to `JsonValue`, and a message is plain JSON.

/** A message of a conversation, as plain JSON. A provider's adapter translates what that provider cannot express. */
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

/** The result of one tool call. */
export type ToolMessage = {
  readonly role: "tool";
  readonly toolCallId: string;
  readonly name: string;
  readonly content: string | readonly ContentPart[];
  readonly isError?: boolean | undefined;
};

/** A tool call that a model asks for. */
export type ToolCall = {
  readonly id: string;
  readonly name: string;
  /**
   * The JSON text exactly as the model wrote it, because it is sent back byte for byte. Until parsed, it may be broken or
   * hostile.
   */
  readonly arguments: string;
  /** Data that the provider needs back with this call (such as a signature of its reasoning). Only the provider can read it. */
  readonly opaque?: { readonly provider: string; readonly data: string } | undefined;
};

/** A part of a message's content. */
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

/** A picture or a file that comes with the input of a run, or with a message to it. */
export type Attachment = ImagePart | FilePart;

/** What the model thought before it answered. */
export type ReasoningPart = {
  readonly type: "reasoning";
  readonly text: string;
  /** Data that the provider needs back in the next turn (a signature, an encrypted body). Only the provider can read it. */
  readonly opaque?: { readonly provider: string; readonly data: string } | undefined;
};

/** The plain text of a message; images, files and reasoning are left out. */
export function textOf(message: Pick<ChatMessage, "content">): string {
  const { content } = message;
  if (typeof content === "string") return content;
  return content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
}
