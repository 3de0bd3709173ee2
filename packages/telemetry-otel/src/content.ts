import {
  type ChatMessage,
  type ContentPart,
  type ModelResponse,
  type SpanContent,
  textOf,
} from "@ravi/kernel";
import { clean } from "./clean.ts";
import { finishReason } from "./names.ts";
import type { Settings } from "./options.ts";

type Part = Readonly<Record<string, unknown>>;
type Message = Readonly<Record<string, unknown>>;

const INPUT = "gen_ai.input.messages";
const OUTPUT = "gen_ai.output.messages";

/** The attribute for a piece of content, and its value. Undefined if nothing of it may be recorded. */
export function contentAttribute(
  content: SpanContent,
  settings: Pick<Settings, "redact" | "maxContentChars">,
): readonly [name: string, value: string] | undefined {
  const room = new Room(settings);
  if (content.of === "arguments") return named("gen_ai.tool.call.arguments", room.take(content.text));
  if (content.of === "result") return named("gen_ai.tool.call.result", room.take(content.text));
  if (content.of === "request") return messages(INPUT, inputOf(content.request.messages, room));
  if (content.of === "response") return messages(OUTPUT, [answerOf(content.response, room)]);
  if (content.of === "input")
    return messages(INPUT, inputOf([{ role: "user", content: content.text }], room));
  return messages(OUTPUT, [said("assistant", textPart("text", content.text, room), "stop")]);
}

/** How much may still be recorded in one attribute. */
class Room {
  private left: number;
  private readonly redact: (text: string) => string | undefined;

  constructor({ redact, maxContentChars }: Pick<Settings, "redact" | "maxContentChars">) {
    this.left = maxContentChars;
    this.redact = redact ?? nothing;
  }

  get isFull(): boolean {
    return this.left <= 0;
  }

  /** The text as it may be recorded. The redactor sees all of it, since it may know a secret that is cut in two otherwise. */
  take(text: string): string | undefined {
    if (this.isFull) return undefined;
    const allowed = this.redact(text);
    if (allowed === undefined) return undefined;
    const cleaned = clean(allowed, this.left);
    this.left -= cleaned.length;
    return cleaned;
  }
}

function nothing(): undefined {}

function named(name: string, text: string | undefined): readonly [string, string] | undefined {
  return text === undefined ? undefined : [name, text];
}

/** As JSON, because a span takes no objects. */
function messages(name: string, all: readonly Message[]): readonly [string, string] {
  return [name, JSON.stringify(all)];
}

/** The newest messages, as many as there is room for: each call repeats those before. */
function inputOf(all: readonly ChatMessage[], room: Room): readonly Message[] {
  const kept: Message[] = [];
  for (let at = all.length - 1; at >= 0 && !room.isFull; at--) {
    const message = all[at];
    if (message !== undefined) kept.push(said(message.role, partsOf(message, room)));
  }
  const missing = all.length - kept.length;
  if (missing > 0) kept.push(said("system", [{ type: "ravi.omitted", messages: missing }]));
  return kept.toReversed();
}

function answerOf({ message, finishReason: reason }: ModelResponse, room: Room): Message {
  return said(message.role, partsOf(message, room), finishReason(reason));
}

function said(role: string, parts: readonly Part[], reason?: string): Message {
  return { role, parts, ...(reason !== undefined && { finish_reason: reason }) };
}

function partsOf(message: ChatMessage, room: Room): readonly Part[] {
  if (message.role === "tool") {
    const response = room.take(textOf(message)) ?? "";
    return [{ type: "tool_call_response", id: message.toolCallId, response }];
  }
  const parts = contentOf(message, room);
  if (message.role !== "assistant" || message.toolCalls === undefined) return parts;
  const calls = message.toolCalls.map(({ id, name, arguments: given }): Part => {
    const text = room.take(given);
    return { type: "tool_call", id, name, ...(text !== undefined && { arguments: text }) };
  });
  return [...parts, ...calls];
}

function contentOf({ content }: ChatMessage, room: Room): readonly Part[] {
  if (typeof content === "string") return content === "" ? [] : textPart("text", content, room);
  return content.flatMap((part) => partOf(part, room));
}

/** Of pictures and files only the type: the bytes would fill the trace. */
function partOf(part: ContentPart, room: Room): readonly Part[] {
  if (part.type === "text" || part.type === "reasoning") return textPart(part.type, part.text, room);
  return [{ type: part.type, ...(part.mediaType !== undefined && { mime_type: part.mediaType }) }];
}

function textPart(type: string, given: string, room: Room): readonly Part[] {
  const text = room.take(given);
  return text === undefined ? [] : [{ type, content: text }];
}
