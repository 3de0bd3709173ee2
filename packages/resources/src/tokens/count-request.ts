import {
  type ChatMessage,
  type ContentPart,
  InvalidValueError,
  type ModelRequest,
  type ToolSpec,
} from "@ravi/kernel";
import { charactersToTokens } from "./parts/characters.ts";
import { cacheShortTexts } from "./parts/short-texts.ts";
import type { CountText } from "./tokenizer.ts";

/** The default token count of an image. Providers charge from 85 to about 1,600 for one; a few models much more. */
export const IMAGE_TOKENS = 1_600;
/** The minimum token count of a file that is not text, a few pages; also that of a linked file. */
export const FILE_TOKENS = 3_000;

/** The role and the delimiters of a message. */
const MESSAGE_FRAME = 4;
const TOOL_FRAME = 8;
const SHORT_ID = 8;
/** The tokens that start the answer. */
const REQUEST_FRAME = 3;

const NO_TOOLS: readonly never[] = Object.freeze([]);

/**
 * Lists of up to this many messages are not cached: counting them again is faster. A longer list is most likely counted again in
 * the next turn.
 */
const FEW = 2;
/**
 * If a list with more messages than this is new here, each of its messages is cached: it may be a copy, and the next turn brings
 * another.
 */
const LONG = 16;
/** A message with more tokens than this is always cached. */
const LARGE = 64;

/**
 * How far a list was counted. It must not refer to the list itself: until the next full garbage collection the engine treats what a
 * `WeakMap` holds as alive, so whole conversations would outlive their runs by that long (0.3 µs more for every turn).
 */
interface Counted {
  length: number;
  last: ChatMessage | undefined;
  tokens: number;
  /** Those of images and files among them. */
  attached: number;
}

/**
 * Counts requests. If a list only grew, only its new messages are counted, so the next turn of a long conversation costs only what it adds.
 * In other lists, large messages and the messages of long lists are cached. This relies on the kernel's contract: messages do not change,
 * lists are only appended to, and an edit makes a new list.
 *
 * An entry in a `WeakMap` takes 0.3 µs, as much as counting the two short messages of a turn, so short messages are not cached.
 */
export class RequestCounter {
  private readonly countText: CountText;
  private readonly imageTokens: number;
  private readonly messages = new WeakMap<ChatMessage, number>();
  private readonly lists = new WeakMap<readonly ChatMessage[], Counted>();
  /** The most recent list: a call is estimated more than once. Only this list is kept alive from here. */
  private latestList: readonly ChatMessage[] | undefined;
  private latest: Counted = nothingCounted();
  /** The tokens of the images and files in messages that were cached. Most conversations have none. */
  private attachments: WeakMap<ChatMessage, number> | undefined;
  /** Those of the list that is being counted. */
  private attached = 0;
  private readonly schemas = new WeakMap<object, number>();
  private latestTools: readonly ToolSpec[] = [];
  private latestToolTokens = 0;

  constructor(countText: CountText, imageTokens: number = IMAGE_TOKENS) {
    this.countText = countText === charactersToTokens ? countText : cacheShortTexts(countText);
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
        expected: "an array of messages",
      });
    let tokens = REQUEST_FRAME + this.countList(messages) + this.countTools(tools ?? NO_TOOLS);
    if (output !== undefined) {
      tokens += TOOL_FRAME + this.countText(output.name) + this.countSchema("output", output.schema);
    }
    return tokens;
  }

  /** How many tokens of the request that was counted last are those of images and files. */
  get latestAttached(): number {
    return this.latest.attached;
  }

  private countList(messages: readonly ChatMessage[]): number {
    const known = this.knownOf(messages);
    const { length } = messages;
    const grew = known.length > 0 && length >= known.length && messages[known.length - 1] === known.last;
    const from = grew ? known.length : 0;
    let tokens = grew ? known.tokens : 0;
    if (grew && from === length) return tokens;
    this.attached = grew ? known.attached : 0;
    const isLong = length > LONG;
    let last: ChatMessage | undefined;
    for (let at = from; at < length; at++) {
      last = messages[at];
      // Messages appended to a known list cannot be in the cache yet.
      if (last !== undefined) tokens += grew ? this.countMessage(last, false) : this.recall(last, isLong);
    }
    known.length = length;
    known.last = last;
    known.tokens = tokens;
    known.attached = this.attached;
    if (from <= FEW && length > FEW) this.lists.set(messages, known);
    return tokens;
  }

  private knownOf(list: readonly ChatMessage[]): Counted {
    if (this.latestList !== list) {
      this.latest = this.lists.get(list) ?? nothingCounted();
      this.latestList = list;
    }
    return this.latest;
  }

  private recall(message: ChatMessage, keep: boolean): number {
    const known = this.messages.get(message);
    if (known === undefined) return this.countMessage(message, keep);
    if (this.attachments !== undefined) this.attached += this.attachments.get(message) ?? 0;
    return known;
  }

  private countMessage(message: ChatMessage, keep: boolean): number {
    if (typeof message !== "object" || message === null)
      throw new InvalidValueError({
        field: "request.messages",
        value: message,
        expected: "message objects only",
      });
    const attachedBefore = this.attached;
    let tokens = MESSAGE_FRAME + this.countContent(message.content);
    if (message.role === "user" && message.name !== undefined) tokens += 1 + this.countText(message.name);
    if (message.role === "tool") tokens += this.countText(message.name) + this.countId(message.toolCallId);
    if (message.role === "assistant") {
      for (const call of message.toolCalls ?? []) {
        tokens +=
          TOOL_FRAME + this.countId(call.id) + this.countText(call.name) + this.countText(call.arguments);
        tokens += opaqueTokens(call.opaque);
      }
    }
    if (keep || tokens > LARGE) {
      this.messages.set(message, tokens);
      const attached = this.attached - attachedBefore;
      if (attached > 0) (this.attachments ??= new WeakMap()).set(message, attached);
    }
    return tokens;
  }

  /**
   * A provider's id of a call is random and never recurs: a tokenizer takes 60 µs, twice a turn, to find that it has nearly as many tokens
   * as characters. So a long id counts its characters.
   */
  private countId(id: string): number {
    return id.length <= SHORT_ID ? this.countText(id) : id.length;
  }

  private countContent(content: string | readonly ContentPart[]): number {
    if (typeof content === "string") return this.countText(content);
    // On some wire formats, an assistant message that only calls tools has `null` content.
    if (typeof content !== "object" || content === null) throw invalidContent(content);
    return content.reduce((tokens, part) => tokens + this.countPart(part), 0);
  }

  private countPart(part: ContentPart): number {
    switch (part.type) {
      case "text":
        return this.countText(part.text);
      case "image":
        return this.attach(this.imageTokens);
      case "file":
        // Providers send a file of an image's type as an image.
        return this.attach(
          /^image\//i.test(part.mediaType) ? this.imageTokens : fileTokens(part.url, part.mediaType),
        );
      case "reasoning":
        return this.countText(part.text) + opaqueTokens(part.opaque);
      default:
        // A part of a newer kernel: counted as text, so that it is at least not free.
        return this.countText(JSON.stringify(part));
    }
  }

  private attach(tokens: number): number {
    this.attached += tokens;
    return tokens;
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
      const expected = "a JSON Schema without cycles and without thousands of nested levels";
      throw new InvalidValueError({ field, value: schema, expected, cause });
    }
    const tokens = this.countText(json);
    this.schemas.set(schema, tokens);
    return tokens;
  }
}

function nothingCounted(): Counted {
  return { length: 0, last: undefined, tokens: 0, attached: 0 };
}

function invalidContent(value: unknown): InvalidValueError {
  const expected = "a string or an array of parts; an empty string for no content";
  return new InvalidValueError({ field: "message.content", value, expected });
}

function isSame(tools: readonly ToolSpec[], others: readonly ToolSpec[]): boolean {
  if (tools.length !== others.length) return false;
  for (let at = 0; at < tools.length; at++) if (tools[at] !== others[at]) return false;
  return true;
}

const DATA = /^data:/i;
const TEXT_TYPE = /^text\/|[/+](?:x-)?(?:json|xml|yaml|csv|javascript)\b/i;

/**
 * The content of a `data:` URL is estimated from its bytes: a third of a token each for text, an eighth for a document such as a PDF. A
 * linked file counts as a small one.
 */
function fileTokens(url: string, mediaType: string): number {
  const comma = DATA.test(url) ? url.indexOf(",") : -1;
  if (comma === -1) return FILE_TOKENS;
  const head = url.slice("data:".length, comma);
  const length = url.length - comma - 1;
  const bytes = /;\s*base64$/i.test(head) ? (length * 3) / 4 : length;
  // Some providers go by the type in the URL.
  const isText = TEXT_TYPE.test(mediaType) || TEXT_TYPE.test(head);
  return Math.max(isText ? 0 : FILE_TOKENS, Math.ceil(bytes / (isText ? 3 : 8)));
}

/** Opaque provider data is mostly the reasoning once more, in base64. */
function opaqueTokens(opaque: { readonly data: string } | undefined): number {
  return Math.ceil((opaque?.data.length ?? 0) / 4);
}
