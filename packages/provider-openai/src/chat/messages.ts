import type {
  AssistantMessage,
  ChatMessage,
  ContentPart,
  FilePart,
  ImagePart,
  ToolMessage,
} from "@ravi/kernel";
import {
  leftOut,
  type Notice,
  pairedCalls,
  plainName,
  plainType,
  shortId,
  unknownLeftOut,
} from "@ravi/kernel/provider";
import type {
  ChatCompletionAssistantMessageParam,
  ChatCompletionContentPart,
  ChatCompletionContentPartText,
  ChatCompletionMessageParam,
  ChatCompletionToolMessageParam,
} from "openai/resources/chat/completions";
import type { Target } from "../wire/protocol.ts";
import { isAddress, isImage, isUploaded } from "../request/attachment.ts";
import { sendableArguments } from "../request/sendable-arguments.ts";
import { isKept, keptFields, keptWithCall } from "./kept.ts";
import { ToolImages } from "./tool-images.ts";

type Reader = Pick<Target, "provider" | "isCompatible" | "notice">;

/** Translates a conversation to Chat Completions. Content that the protocol cannot carry is replaced by a note to the model. */
export function chatMessages(messages: readonly ChatMessage[], reader: Reader): ChatCompletionMessageParam[] {
  const images = new ToolImages();
  const translated = pairedCalls(messages).flatMap((message) => {
    if (losesReasoning(message, reader))
      reader.notice("reasoning of earlier turns is left out: Chat Completions has no field for it");
    if (message.role === "tool") return [toolMessage(message, images, reader.notice)];
    const next = chatMessage(message, reader);
    // Many servers refuse an empty turn, for example one that was cut off while the model was thinking.
    return isEmpty(next) ? images.take() : [...images.take(), next];
  });
  return [...translated, ...images.take()];
}

function losesReasoning({ content }: ChatMessage, { provider, isCompatible }: Reader): boolean {
  if (typeof content === "string") return false;
  return content.some((part) => part.type === "reasoning" && !(isCompatible && isKept(part, provider)));
}

function isEmpty(message: ChatCompletionMessageParam): boolean {
  return message.role === "assistant" && message.content === "" && message.tool_calls === undefined;
}

/** OpenAI refuses longer ids of tool calls. Those of other providers may be longer. */
export const MAX_ID = 40;

/** What OpenAI accepts as the `name` of a speaker. */
const SPEAKER = /^[^\s<|\\/>]{1,64}$/;

function chatMessage(message: Exclude<ChatMessage, ToolMessage>, reader: Reader): ChatCompletionMessageParam {
  const { notice } = reader;
  switch (message.role) {
    case "system":
      return { role: "system", content: message.content };
    case "user": {
      const { content, name } = message;
      const said = typeof content === "string" ? content : content.flatMap((part) => userPart(part, notice));
      if (name === undefined) return { role: "user", content: said };
      return SPEAKER.test(name)
        ? { role: "user", content: said, name }
        : { role: "user", content: withSpeaker(name, said) };
    }
    default:
      return assistantMessage(message, reader);
  }
}

function toolMessage(
  message: ToolMessage,
  images: ToolImages,
  notice: Notice,
): ChatCompletionToolMessageParam {
  const content = plainText(message, notice, (part) => {
    if (!isImage(part)) return undefined;
    return isAddress(part.url) ? images.add(message, part) : leftOut(part, NO_URL, notice);
  });
  return { role: "tool", tool_call_id: shortId(message.toolCallId, MAX_ID), content };
}

/** Puts the speaker's name into the text, for names that have no field of their own. */
export function withSpeaker<Part>(
  name: string,
  content: string | readonly Part[],
): string | (Part | ChatCompletionContentPartText)[] {
  return typeof content === "string"
    ? `${name}: ${content}`
    : [{ type: "text", text: `${name}:` }, ...content];
}

function assistantMessage(message: AssistantMessage, reader: Reader): ChatCompletionAssistantMessageParam {
  const { toolCalls = [] } = message;
  const { provider, isCompatible } = reader;
  const content = plainText(message, reader.notice);
  // OpenAI itself sends nothing that must be sent back, and refuses the fields of other servers.
  const kept = isCompatible ? keptFields(message, provider) : {};
  if (toolCalls.length === 0) return { role: "assistant", content, ...kept };
  return {
    role: "assistant",
    content: content === "" ? null : content,
    ...kept,
    tool_calls: toolCalls.map((call) => ({
      id: shortId(call.id, MAX_ID),
      type: "function",
      function: { name: plainName(call.name), arguments: sendableArguments(call.arguments, isCompatible) },
      ...(isCompatible ? keptWithCall(call, provider) : {}),
    })),
  };
}

/** Assistant and tool messages can only be text in this protocol. `inWords` may give the text for an image or a file. */
function plainText(
  { content }: AssistantMessage | ToolMessage,
  notice: Notice,
  inWords: (part: ImagePart | FilePart) => string | undefined = () => undefined,
): string {
  if (typeof content === "string") return content;
  return content
    .map((part) => {
      switch (part.type) {
        case "text":
          return part.text;
        case "reasoning":
          return "";
        case "image":
        case "file":
          return inWords(part) ?? leftOut(part, "only text can be sent here", notice);
        default:
          return unknownLeftOut(part, notice);
      }
    })
    .join("");
}

function userPart(part: ContentPart, notice: Notice): ChatCompletionContentPart[] {
  switch (part.type) {
    case "text":
      return [{ type: "text", text: part.text }];
    case "image":
      return [imagePart(part, notice)];
    case "file":
      return [filePart(part, notice)];
    case "reasoning":
      // Reasoning belongs to the assistant.
      return [];
    default:
      return [{ type: "text", text: unknownLeftOut(part, notice) }];
  }
}

const AUDIO: ReadonlyMap<string, "wav" | "mp3"> = new Map([
  ["audio/wav", "wav"],
  ["audio/x-wav", "wav"],
  ["audio/mpeg", "mp3"],
  ["audio/mp3", "mp3"],
]);

function imagePart(part: ImagePart | FilePart, notice: Notice): ChatCompletionContentPart {
  const { url } = part;
  return isAddress(url)
    ? { type: "image_url", image_url: { url } }
    : { type: "text", text: leftOut(part, NO_URL, notice) };
}

const NO_URL = "it has no valid URL";

function filePart(part: FilePart, notice: Notice): ChatCompletionContentPart {
  const { url, mediaType, name } = part;
  if (isImage(part)) return imagePart(part, notice);
  if (isUploaded(url)) return { type: "file", file: { file_id: url } };
  if (!url.startsWith("data:"))
    return { type: "text", text: leftOut(part, "it can only be sent as a data: URL", notice) };
  const format = AUDIO.get(plainType(mediaType));
  const comma = url.indexOf(",");
  if (format !== undefined && url.slice(0, comma).endsWith(";base64"))
    return { type: "input_audio", input_audio: { data: url.slice(comma + 1), format } };
  return { type: "file", file: { file_data: url, filename: name ?? "file" } };
}
