import {
  type ChatMessage,
  type ContentPart,
  InvalidValueError,
  type ModelRequest,
  type ToolSpec,
} from "@ravi/kernel";
import type { CountText } from "./tokenizer.ts";

/** What an image counts where nobody says better. Providers take from 85 to about 1,600 for one; a few models much more. */
export const IMAGE_TOKENS = 1_600;
/** What a file counts at least: a few pages. */
export const FILE_TOKENS = 3_000;

/** The role and the marks around a message. */
const MESSAGE_FRAME = 4;
const TOOL_FRAME = 8;
/** What starts the answer. */
const REQUEST_FRAME = 3;

interface Counted {
  readonly length: number;
  readonly last: ChatMessage | undefined;
  readonly tokens: number;
}

/**
 * Counts requests. A message, tool or schema is counted once in its life, and a list that only grew only in its new messages,
 * so the next turn of a long conversation costs what it adds. That rests on the kernel's contract: messages do not change,
 * lists are only appended to, and whoever edits makes a new list.
 */
export class RequestCounter {
  private readonly countText: CountText;
  private readonly imageTokens: number;
  private readonly messages = new WeakMap<ChatMessage, number>();
  private readonly lists = new WeakMap<readonly ChatMessage[], Counted>();
  private readonly schemas = new WeakMap<object, number>();

  constructor(countText: CountText, imageTokens: number = IMAGE_TOKENS) {
    this.countText = countText;
    this.imageTokens = imageTokens;
  }

  count(request: ModelRequest): number {
    let tokens = REQUEST_FRAME + this.countList(request.messages);
    for (const tool of request.tools ?? []) tokens += this.countTool(tool);
    if (request.output !== undefined) {
      tokens +=
        TOOL_FRAME + this.countText(request.output.name) + this.countSchema("output", request.output.schema);
    }
    return tokens;
  }

  private countList(messages: readonly ChatMessage[]): number {
    const known = this.lists.get(messages);
    const grew =
      known !== undefined && messages.length >= known.length && messages[known.length - 1] === known.last;
    let tokens = grew ? known.tokens : 0;
    for (let at = grew ? known.length : 0; at < messages.length; at++) {
      const message = messages[at];
      if (message !== undefined) tokens += this.countMessage(message);
    }
    this.lists.set(messages, { length: messages.length, last: messages.at(-1), tokens });
    return tokens;
  }

  private countMessage(message: ChatMessage): number {
    const known = this.messages.get(message);
    if (known !== undefined) return known;
    let tokens = MESSAGE_FRAME + this.countContent(message.content);
    if (message.role === "user" && message.name !== undefined) tokens += 1 + this.countText(message.name);
    if (message.role === "tool") tokens += this.countText(message.name) + this.countText(message.toolCallId);
    if (message.role === "assistant") {
      for (const call of message.toolCalls ?? []) {
        tokens +=
          TOOL_FRAME + this.countText(call.id) + this.countText(call.name) + this.countText(call.arguments);
        tokens += sealedTokens(call.opaque);
      }
    }
    this.messages.set(message, tokens);
    return tokens;
  }

  private countContent(content: string | readonly ContentPart[]): number {
    if (typeof content === "string") return this.countText(content);
    return content.reduce((tokens, part) => tokens + this.countPart(part), 0);
  }

  private countPart(part: ContentPart): number {
    switch (part.type) {
      case "text":
        return this.countText(part.text);
      case "image":
        return this.imageTokens;
      case "file":
        return fileTokens(part.url, part.mediaType);
      case "reasoning":
        return this.countText(part.text) + sealedTokens(part.opaque);
      default:
        // A part of a later kernel: as text, it is at least not free.
        return this.countText(JSON.stringify(part));
    }
  }

  private countTool(tool: ToolSpec): number {
    const known = this.schemas.get(tool);
    if (known !== undefined) return known;
    const text = this.countText(tool.name) + this.countText(tool.description);
    const tokens = TOOL_FRAME + text + this.countSchema(`tool ${tool.name}: parameters`, tool.parameters);
    this.schemas.set(tool, tokens);
    return tokens;
  }

  private countSchema(field: string, schema: object): number {
    const known = this.schemas.get(schema);
    if (known !== undefined) return known;
    let json: string;
    try {
      json = JSON.stringify(schema);
    } catch (cause) {
      const expected = "a JSON Schema without cycles, not nested thousands deep";
      throw new InvalidValueError({ field, value: schema, expected, cause });
    }
    const tokens = this.countText(json);
    this.schemas.set(schema, tokens);
    return tokens;
  }
}

/**
 * What is in a `data:` URL is judged by its bytes: a quarter of a token each for text, an eighth for a document such as a PDF.
 * What is only linked counts as a small file.
 */
function fileTokens(url: string, mediaType: string): number {
  const comma = url.startsWith("data:") ? url.indexOf(",") : -1;
  if (comma === -1) return FILE_TOKENS;
  const bytes = ((url.length - comma - 1) * 3) / 4;
  const isText = /^text\/|[/+](?:json|xml|yaml|csv|javascript)\b/i.test(mediaType);
  return Math.max(isText ? 0 : FILE_TOKENS, Math.ceil(bytes / (isText ? 3 : 8)));
}

/** What is sealed for a provider is mostly its reasoning once more, in base64. */
function sealedTokens(opaque: { readonly data: string } | undefined): number {
  return Math.ceil((opaque?.data.length ?? 0) / 4);
}
