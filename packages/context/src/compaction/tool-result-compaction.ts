import {
  type ChatMessage,
  checkBoolean,
  checkFields,
  checkInteger,
  type CompactionStrategy,
  type ContentPart,
  type ToolMessage,
} from "@ravi/kernel";
import { clip } from "./summary/clip.ts";
import { markValid, validPrompt } from "./prompt.ts";

export interface ToolResultCompactionOptions {
  /** The maximum length of a result, in UTF-16 units. Default: 500. */
  readonly maxChars?: number | undefined;
  /** Whether the results at the end, which the model has not read yet, are cut too. Default: false. */
  readonly includeUnread?: boolean | undefined;
}

/** Cuts long tool results down to their beginning and end. Errors are kept whole, because the cause is often at their end. */
export class ToolResultCompaction implements CompactionStrategy {
  readonly name = "ToolResultCompaction";
  readonly maxChars: number;
  readonly includeUnread: boolean;
  /** A result is always cut to the same object, so that it is counted and hashed only once. */
  private readonly cut = new WeakMap<ToolMessage, ToolMessage>();

  constructor(options: ToolResultCompactionOptions = {}) {
    checkFields("ToolResultCompaction", options, ["maxChars", "includeUnread"]);
    this.maxChars = checkInteger("ToolResultCompaction.maxChars", options.maxChars ?? 500, 1);
    this.includeUnread = checkBoolean("ToolResultCompaction.includeUnread", options.includeUnread ?? false);
  }

  compact(messages: readonly ChatMessage[]): readonly ChatMessage[] {
    const prompt = validPrompt(messages);
    // What comes after the model's last message it has not read, also if the user has spoken since.
    const end = this.includeUnread ? prompt.length : prompt.findLastIndex(({ role }) => role === "assistant");
    let changed: ChatMessage[] | undefined;
    for (let at = 0; at < end; at++) {
      const message = prompt[at];
      if (message?.role !== "tool" || message.isError === true || !this.isLong(message)) continue;
      changed ??= [...prompt];
      changed[at] = this.shorten(message);
    }
    return changed === undefined ? prompt : markValid(changed);
  }

  private isLong({ content }: ToolMessage): boolean {
    if (typeof content === "string") return content.length > this.maxChars;
    let length = 0;
    for (const part of content) length += lengthOf(part);
    return length > this.maxChars;
  }

  private shorten(message: ToolMessage): ToolMessage {
    let short = this.cut.get(message);
    if (short === undefined) {
      const { content } = message;
      const text = typeof content === "string" ? content : content.map(asText).join("");
      short = Object.freeze({ ...message, content: clip(text, this.maxChars) });
      this.cut.set(message, short);
    }
    return short;
  }
}

function lengthOf(part: ContentPart): number {
  return part.type === "text" || part.type === "reasoning" ? part.text.length : part.url.length;
}

function asText(part: ContentPart): string {
  switch (part.type) {
    case "text":
      return part.text;
    case "reasoning":
      return "";
    case "image":
      return "[an image is left out]";
    default:
      return `[the file ${part.name ?? part.mediaType} is left out]`;
  }
}
