import { type ChatMessage, type ContentPart, textOf, type ToolMessage, type UserMessage } from "@ravi/kernel";
import {
  type CallIds,
  callIds,
  leftOut,
  pairedCalls,
  plainName,
  unknownLeftOut,
} from "@ravi/kernel/provider";
import { assistantParts } from "./assistant.ts";
import { filePart, type FileTarget, toolFilePart } from "./files.ts";
import { partsOf, textPart } from "./text.ts";

export interface PromptTarget extends FileTarget {
  /** The provider whose reasoning can be sent back, such as `ai-sdk/openai.responses`. */
  readonly tag: string;
  readonly modelId: string;
  /** Whether system messages may be in the middle of the conversation. */
  readonly systemAnywhere: boolean;
  /** Whether tool results may contain files. Chat protocols carry them as text: an image would be sent as base64 text. */
  readonly takesToolFiles: boolean;
}

/** The length that every provider accepts: OpenAI refuses more than 40 characters. */
const MAX_ID = 40;

interface Writing extends PromptTarget {
  readonly ids: CallIds;
}

/** The conversation in the form of the model's version of the AI SDK. */
export function promptOf(messages: readonly ChatMessage[], target: PromptTarget): readonly object[] {
  const prompt: object[] = [];
  const writing: Writing = { ...target, ids: callIds(MAX_ID) };
  let opened = false;
  for (const message of pairedCalls(messages)) {
    // Anthropic refuses a blank one.
    if (message.role === "system" && message.content.trim() === "") continue;
    const isLateSystem = message.role === "system" && opened && !target.systemAnywhere;
    if (message.role !== "system") opened = true;
    const mapped = isLateSystem ? lateSystem(message.content) : promptMessage(message, writing);
    if (mapped !== undefined) prompt.push(mapped);
  }
  return prompt;
}

/** Most protocols allow system text only at the top. A later system message keeps its place as a user message. */
function lateSystem(text: string): object {
  return { role: "user", content: textPart(`<system>\n${text}\n</system>`) };
}

function promptMessage(message: ChatMessage, target: Writing): object | undefined {
  switch (message.role) {
    case "system":
      return { role: "system", content: message.content.toWellFormed() };
    case "user":
      return withContent("user", userParts(message, target));
    case "assistant":
      return withContent("assistant", assistantParts(message, target));
    default:
      return { role: "tool", content: [toolResult(message, target)] };
  }
}

/** Undefined for an empty turn, which servers refuse. */
function withContent(role: string, content: readonly object[]): object | undefined {
  return content.length === 0 ? undefined : { role, content };
}

/** There is no field for the speaker's name, so it is put into the text. */
function userParts({ content, name }: UserMessage, target: PromptTarget): readonly object[] {
  if (name !== undefined && typeof content === "string") return textPart(`${name}: ${content}`);
  return [...textPart(name === undefined ? "" : `${name}:`), ...contentParts(content, target, filePart)];
}

/** The parts of a user's message or of a tool's result, which differ in how `fileOf` writes an attachment. */
function contentParts(
  content: string | readonly ContentPart[],
  target: PromptTarget,
  fileOf: typeof filePart,
): readonly object[] {
  return partsOf(content).flatMap((part): object[] => {
    switch (part.type) {
      case "text":
        return textPart(part.text);
      case "image":
      case "file":
        return [fileOf(part, target)];
      case "reasoning":
        // Reasoning belongs to the assistant.
        return [];
      default:
        return textPart(unknownLeftOut(part, target.notice));
    }
  });
}

function toolResult(message: ToolMessage, target: Writing): object {
  return {
    type: "tool-result",
    toolCallId: target.ids.latest(message.toolCallId),
    toolName: plainName(message.name),
    output: toolOutput(message, target),
  };
}

function toolOutput(message: ToolMessage, target: PromptTarget): object {
  const parts = partsOf(message.content);
  const isPlain =
    message.isError === true || !target.takesToolFiles || parts.every(({ type }) => type === "text");
  if (!isPlain) return { type: "content", value: contentParts(parts, target, toolFilePart) };
  const notices = parts.flatMap((part) => {
    switch (part.type) {
      case "text":
      case "reasoning":
        return [];
      case "image":
      case "file":
        return [leftOut(part, "only text can be sent here", target.notice)];
      default:
        return [unknownLeftOut(part, target.notice)];
    }
  });
  const value = [textOf(message), ...notices]
    .filter((text) => text !== "")
    .join("\n")
    .toWellFormed();
  return { type: message.isError === true ? "error-text" : "text", value };
}
