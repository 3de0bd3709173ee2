import {
  type ChatMessage,
  type ContentPart,
  InvalidValueError,
  type ModelRequest,
  type ToolSpec,
} from "@ravi/kernel";
import { charactersToTokens } from "./characters.ts";
import { rememberShort } from "./short-texts.ts";
import type { CountText } from "./tokenizer.ts";

/** What an image counts where nobody says better. Providers take from 85 to about 1,600 for one; a few models much more. */
export const IMAGE_TOKENS = 1_600;
/** What a file counts at least: a few pages. */
export const FILE_TOKENS = 3_000;

/** The role and the marks around a message. */
const MESSAGE_FRAME = 4;
const TOOL_FRAME = 8;
const SHORT_ID = 8;
/** What starts the answer. */
const REQUEST_FRAME = 3;

const NO_TOOLS: readonly never[] = Object.freeze([]);

/** Up to so many messages are counted anew sooner than looked up: most runs that have more will have more than one turn. */
const FEW = 2;
/** The messages of a longer list that is new here are remembered one by one: it may be a copy, and the next turn brings another. */
const LONG = 16;
/** A message of more tokens than that is worth remembering by itself. */
const LARGE = 64;

/**
 * A list as far as it was counted. It must not lead back to the list: until the next full collection the engine takes what a
 * `WeakMap` holds for alive, and whole conversations would outlive their runs by that long (0.3 µs more for every turn).
 */
interface Counted {
  length: number;
  last: ChatMessage | undefined;
  tokens: number;
}

/**
 * Counts requests. A list that only grew is counted only in its new messages, so the next turn of a long conversation costs what
 * it adds; of another list, large messages and those of long lists are remembered. That rests on the kernel's contract: messages
 * do not change, lists are only appended to, and whoever edits makes a new list.
 *
 * To remember one thing weakly takes 0.3 µs, as much as to count the two short messages of a turn, so those are not remembered.
 */
export class RequestCounter {
  private readonly countText: CountText;
  private readonly imageTokens: number;
  private readonly messages = new WeakMap<ChatMessage, number>();
  private readonly lists = new WeakMap<readonly ChatMessage[], Counted>();
  /** The one that was asked about last: a call is estimated more than once. It alone is kept alive from here. */
  private latestList: readonly ChatMessage[] | undefined;
  private latest: Counted = { length: 0, last: undefined, tokens: 0 };
  private readonly schemas = new WeakMap<object, number>();
  private latestTools: readonly ToolSpec[] = [];
  private latestToolTokens = 0;

  constructor(countText: CountText, imageTokens: number = IMAGE_TOKENS) {
    this.countText = countText === charactersToTokens ? countText : rememberShort(countText);
    this.imageTokens = imageTokens;
  }

  count(request: ModelRequest): number {
    if (typeof request !== "object" || request === null)
      throw new InvalidValueError({ field: "request", value: request, expected: "{ messages }" });
    const { messages, tools, output } = request;
    if (!Array.isArray(messages))
      throw new InvalidValueError({
        field: "request.messages",
        value: messages,
        expected: "a list of messages",
      });
    let tokens = REQUEST_FRAME + this.countList(messages) + this.countTools(tools ?? NO_TOOLS);
    if (output !== undefined) {
      tokens += TOOL_FRAME + this.countText(output.name) + this.countSchema("output", output.schema);
    }
    return tokens;
  }

  private countList(messages: readonly ChatMessage[]): number {
    const known = this.knownOf(messages);
    const { length } = messages;
    const grew = known.length > 0 && length >= known.length && messages[known.length - 1] === known.last;
    const from = grew ? known.length : 0;
    let tokens = grew ? known.tokens : 0;
    if (grew && from === length) return tokens;
    const isLong = length > LONG;
    let last: ChatMessage | undefined;
    for (let at = from; at < length; at++) {
      last = messages[at];
      // What was appended to a known list is new here.
      if (last !== undefined) tokens += grew ? this.countMessage(last, false) : this.recall(last, isLong);
    }
    known.length = length;
    known.last = last;
    known.tokens = tokens;
    if (from <= FEW && length > FEW) this.lists.set(messages, known);
    return tokens;
  }

  private knownOf(list: readonly ChatMessage[]): Counted {
    if (this.latestList !== list) {
      this.latest = this.lists.get(list) ?? { length: 0, last: undefined, tokens: 0 };
      this.latestList = list;
    }
    return this.latest;
  }

  private recall(message: ChatMessage, keep: boolean): number {
    return this.messages.get(message) ?? this.countMessage(message, keep);
  }

  private countMessage(message: ChatMessage, keep: boolean): number {
    if (typeof message !== "object" || message === null)
      throw new InvalidValueError({ field: "request.messages", value: message, expected: "only messages" });
    let tokens = MESSAGE_FRAME + this.countContent(message.content);
    if (message.role === "user" && message.name !== undefined) tokens += 1 + this.countText(message.name);
    if (message.role === "tool") tokens += this.countText(message.name) + this.countId(message.toolCallId);
    if (message.role === "assistant") {
      for (const call of message.toolCalls ?? []) {
        tokens +=
          TOOL_FRAME + this.countId(call.id) + this.countText(call.name) + this.countText(call.arguments);
        tokens += sealedTokens(call.opaque);
      }
    }
    if (keep || tokens > LARGE) this.messages.set(message, tokens);
    return tokens;
  }

  /**
   * A provider's id of a call is random and never comes again: a tokenizer takes 60 µs, twice a turn, to find that it has nearly
   * as many tokens as characters. So it counts as many.
   */
  private countId(id: string): number {
    return id.length <= SHORT_ID ? this.countText(id) : id.length;
  }

  private countContent(content: string | readonly ContentPart[]): number {
    if (typeof content === "string") return this.countText(content);
    // An assistant that only calls tools has said null on some wires.
    if (typeof content !== "object" || content === null) throw noContent(content);
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

  private countTools(tools: readonly ToolSpec[]): number {
    if (tools.length === 0) return 0;
    if (!isSame(tools, this.latestTools)) {
      let tokens = 0;
      for (const tool of tools) tokens += this.countTool(tool);
      this.latestTools = [...tools];
      this.latestToolTokens = tokens;
    }
    return this.latestToolTokens;
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

function noContent(value: unknown): InvalidValueError {
  const expected = "a text, or a list of parts; an empty text for none";
  return new InvalidValueError({ field: "message.content", value, expected });
}

function isSame(tools: readonly ToolSpec[], others: readonly ToolSpec[]): boolean {
  if (tools.length !== others.length) return false;
  for (let at = 0; at < tools.length; at++) if (tools[at] !== others[at]) return false;
  return true;
}

/**
 * What is in a `data:` URL is judged by its bytes: a third of a token each for text, an eighth for a document such as a PDF.
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
