import type {
  AssistantMessage,
  ChatMessage,
  ContentPart,
  FilePart,
  ModelResponse,
  ToolCall,
} from "@ravi/kernel";

/** Changes a text of a message. `json` is true for the arguments of tool calls. */
export type ChangeText = (text: string, json: boolean) => string;

/** A message with its texts changed. Returns the same object if nothing changed, so that lists can be compared. */
export function changeMessage<M extends ChatMessage>(message: M, change: ChangeText): M {
  const content = changeContent(message.content, change);
  const calls = message.role === "assistant" ? changeCalls(message.toolCalls, change) : undefined;
  const isSame = content === message.content && (message.role !== "assistant" || calls === message.toolCalls);
  if (isSame) return message;
  return calls === undefined ? { ...message, content } : { ...message, content, toolCalls: calls };
}

export function changeContent<T extends string | readonly ContentPart[]>(content: T, change: ChangeText): T;
export function changeContent(
  content: string | readonly ContentPart[],
  change: ChangeText,
): string | readonly ContentPart[] {
  return typeof content === "string"
    ? change(content, false)
    : changeList(content, (part) => changePart(part, change));
}

function changePart(part: ContentPart, change: ChangeText): ContentPart {
  if (part.type === "file") return changeFile(part, change);
  if (part.type !== "text" && part.type !== "reasoning") return part;
  const text = change(part.text, false);
  if (text === part.text) return part;
  // The provider's signature is only valid for the original text, so it is dropped.
  return part.type === "text" ? { type: "text", text } : { type: "reasoning", text };
}

/** Providers show a file's name to the model. */
function changeFile(part: FilePart, change: ChangeText): FilePart {
  const name = part.name === undefined ? undefined : change(part.name, false);
  return name === part.name ? part : { ...part, name };
}

function changeCalls(
  calls: readonly ToolCall[] | undefined,
  change: ChangeText,
): readonly ToolCall[] | undefined {
  if (calls === undefined) return undefined;
  return changeList(calls, (call) => {
    const text = change(call.arguments, true);
    return text === call.arguments ? call : { ...call, arguments: text };
  });
}

/** Applies `change` to each item. Returns the same list if nothing changed. */
export function changeList<T>(list: readonly T[], change: (item: T) => T): readonly T[] {
  let changed: T[] | undefined;
  for (const [at, item] of list.entries()) {
    const other = change(item);
    if (other !== item) (changed ??= [...list])[at] = other;
  }
  return changed ?? list;
}

/** An answer with its texts changed, also where what is to be changed begins in one part and ends in the next. */
export function changeResponse(response: ModelResponse, change: ChangeText): ModelResponse {
  let message: AssistantMessage = changeMessage(response.message, change);
  for (const type of ["text", "reasoning"] as const) {
    const parts = textsOf(message, type);
    if (parts.length < 2) continue;
    const whole = parts.join("");
    const text = change(whole, false);
    if (text !== whole) message = withOneText(message, type, text);
  }
  return message === response.message ? response : { ...response, message };
}

type TextType = "text" | "reasoning";

function textsOf({ content }: AssistantMessage, type: TextType): readonly string[] {
  if (typeof content === "string") return [];
  return content.flatMap((part) => (part.type === type ? [part.text] : []));
}

/** The message with one part of this type, where the first of them was. */
function withOneText(message: AssistantMessage, type: TextType, text: string): AssistantMessage {
  const { content } = message;
  if (typeof content === "string") return message;
  const first = content.findIndex((part) => part.type === type);
  const kept = content.flatMap((part, at) =>
    at === first ? [{ type, text }] : part.type === type ? [] : [part],
  );
  return { ...message, content: kept };
}

/** What the model thought, as one text. */
export function reasoningOf({ content }: Pick<ChatMessage, "content">): string {
  if (typeof content === "string") return "";
  return content.flatMap((part) => (part.type === "reasoning" ? [part.text] : [])).join("");
}
