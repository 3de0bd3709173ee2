import type {
  ContentBlockParam,
  TextBlockParam,
  ToolResultBlockParam,
  ToolUseBlockParam,
} from "@anthropic-ai/sdk/resources/messages";
import type { AssistantMessage, ChatMessage, ToolMessage } from "@ravi/kernel";
import { argumentObject, type CallIds, callIds, type Notice, plainName } from "@ravi/kernel/provider";
import { type InputBlock, inputBlocks, noteOf, textBlocks, unknownNote } from "./content.ts";
import { readOpaque } from "../opaque.ts";

export interface Conversation {
  readonly system: readonly TextBlockParam[];
  readonly messages: readonly Turn[];
  /** The names of the tools that were called in it. */
  readonly toolNames: readonly string[];
  /** The seals of the thoughts in it. */
  readonly thoughts: readonly string[];
  /** The seals of the tools' images in it. */
  readonly images: readonly string[];
}

/** A message with its blocks in a list, so that more blocks can be added. */
export interface Turn {
  readonly role: "user" | "assistant";
  readonly content: ContentBlockParam[];
}

const MAX_ID = 64;

const NONE: ReadonlySet<string> = new Set();

interface Translation {
  readonly provider: string;
  /** Whether it is a server of Anthropic. */
  readonly isOwn: boolean;
  /** The seals of thoughts and of tools' images that the server could not read. */
  readonly unreadable: ReadonlySet<string>;
  readonly notice: Notice;
  readonly ids: CallIds;
  readonly toolNames: Set<string>;
  readonly thoughts: string[];
  readonly images: string[];
}

/**
 * A conversation in the form that the Messages API demands, whichever provider it began with: the user speaks first and last, roles
 * alternate, and a turn with calls is followed at once by the results of all of them.
 */
export function toConversation(
  source: readonly ChatMessage[],
  provider: string,
  notice: Notice,
  isOwn = true,
  unreadable: ReadonlySet<string> = NONE,
): Conversation {
  const toolNames = new Set<string>();
  const [thoughts, images]: [string[], string[]] = [[], []];
  const ids = callIds(MAX_ID);
  const translation = { provider, isOwn, unreadable, notice, ids, toolNames, thoughts, images };
  const begin = source.findIndex((message) => message.role !== "system");
  const head = begin === -1 ? source : source.slice(0, begin);
  const turns: Turn[] = [];
  for (let at = head.length; at < source.length;) {
    const message = source[at];
    // Everything between two assistant messages becomes one user turn.
    let end = at + 1;
    while (end < source.length && source[end]?.role !== "assistant") end++;
    if (message?.role === "assistant") {
      addAnswer(turns, message, source.slice(at + 1, end), translation);
    } else {
      add(
        turns,
        "user",
        source.slice(at, end).flatMap((item) => otherBlocks(item, translation)),
      );
    }
    at = end;
  }
  closeEnds(turns);
  return {
    system: head.flatMap((message) => textBlocks(typeof message.content === "string" ? message.content : "")),
    messages: turns,
    toolNames: [...toolNames],
    thoughts,
    images,
  };
}

function addAnswer(
  turns: Turn[],
  answer: AssistantMessage,
  following: readonly ChatMessage[],
  translation: Translation,
): void {
  const { toolCalls = [] } = answer;
  /** The calls that still need a result, with the ids under which they are sent. */
  const open = toolCalls.map((call) => ({ call, id: translation.ids.begin(call.id) }));
  const uses = open.map(({ call, id }) => {
    const name = plainName(call.name);
    translation.toolNames.add(name);
    return { type: "tool_use" as const, id, name, input: argumentObject(call.arguments) };
  });
  const blocks = answerBlocks(answer, uses, translation);
  // The API refuses a turn that ends with thinking, as one that was cut off does.
  while (isThinkingBlock(blocks.at(-1))) blocks.pop();
  add(turns, "assistant", blocks);

  const results: ContentBlockParam[] = [];
  const others: ContentBlockParam[] = [];
  for (const message of following) {
    const position =
      message.role === "tool" ? open.findIndex(({ call }) => call.id === message.toolCallId) : -1;
    const [match] = position === -1 ? [] : open.splice(position, 1);
    if (match !== undefined && message.role === "tool")
      results.push(resultBlock(match.id, message, translation));
    else others.push(...otherBlocks(message, translation));
  }
  for (const { id } of open) {
    const content = "There is no result: the call was not finished.";
    results.push({ type: "tool_result", tool_use_id: id, content, is_error: true });
  }
  add(turns, "user", [...results, ...others]);
}

/** The blocks of an answer, with its calls at their places among them. */
function answerBlocks(
  { content }: AssistantMessage,
  uses: readonly ToolUseBlockParam[],
  { provider, isOwn, unreadable, notice, thoughts }: Translation,
): ContentBlockParam[] {
  const blocks: ContentBlockParam[] = [];
  let sent = 0;
  const sendCalls = (upTo: number): void => {
    blocks.push(...uses.slice(sent, upTo));
    sent = Math.max(sent, upTo);
  };
  for (const part of typeof content === "string" ? [{ type: "text", text: content } as const] : content) {
    if (part.type === "text") blocks.push(...textBlocks(part.text));
    else if (part.type === "image" || part.type === "file")
      blocks.push(noteOf(part, "only text can be sent here", notice));
    else if (part.type === "reasoning") {
      const kept = readOpaque(part, provider, isOwn);
      sendCalls(kept?.calls ?? 0);
      const seal = kept?.block === undefined ? "" : (sealOf(kept.block) ?? "");
      if (kept?.block !== undefined && !unreadable.has(seal)) {
        blocks.push(kept.block);
        if (seal !== "") thoughts.push(seal);
      } else if (kept?.isPlace !== true) notice("reasoning without a signature of this provider is left out");
    } else blocks.push(unknownNote(part, notice));
  }
  sendCalls(uses.length);
  return blocks;
}

/** The blocks of a user's turn other than tool results. */
function otherBlocks(message: ChatMessage, { notice }: Translation): ContentBlockParam[] {
  switch (message.role) {
    case "system":
      notice("a system message after the beginning is sent as part of the user's turn");
      return textBlocks(message.content).map(({ text }) => ({
        type: "text",
        text: `<system>\n${text}\n</system>`,
      }));
    case "tool": {
      notice("a tool's result without its call is sent as text");
      const blocks = inputBlocks(message.content, notice);
      return [{ type: "text", text: `[A result of ${plainName(message.name)}:]` }, ...blocks];
    }
    case "user":
      return [
        ...textBlocks(message.name === undefined ? "" : `${message.name}:`),
        ...inputBlocks(message.content, notice),
      ];
    default:
      // Does not happen: an assistant message begins a turn of its own.
      return [];
  }
}

function resultBlock(
  id: string,
  { content, isError }: ToolMessage,
  { notice, unreadable, images }: Translation,
): ToolResultBlockParam {
  const head = { type: "tool_result", tool_use_id: id } as const;
  const blocks = inputBlocks(content, notice).map((block): InputBlock => {
    if (block.type !== "image") return block;
    const seal = sealOf(block) ?? "";
    if (unreadable.has(seal)) return { type: "text", text: "[an image was left out: it cannot be read]" };
    images.push(seal);
    return block;
  });
  if (isError === true) return { ...head, content: failureText(blocks, notice), is_error: true };
  if (blocks.length === 0) return head;
  const [only] = blocks;
  return { ...head, content: blocks.length === 1 && only?.type === "text" ? only.text : blocks };
}

/** A failed result must be text, and must not be empty. */
function failureText(blocks: readonly InputBlock[], notice: Notice): string {
  const texts = blocks.map((block) => {
    if (block.type === "text") return block.text;
    const what = block.type === "image" ? "an image" : "a document";
    notice(`${what} is left out: the result of a tool that failed can only be text`);
    return `[${what} was left out]`;
  });
  return texts.join("\n") || "The tool failed without an error message.";
}

/**
 * What a thought or an image is known by: the signature or, if it is encrypted, all of it; the address, or the size and the end of the data.
 * Undefined for any other block.
 */
function sealOf(block: ContentBlockParam): string | undefined {
  if (block.type === "thinking") return block.signature;
  if (block.type === "redacted_thinking") return block.data;
  if (block.type !== "image") return undefined;
  const { source } = block;
  if (source.type === "base64") return `${source.data.length} ${source.data.slice(-200)}`;
  return source.type === "url" ? source.url : source.file_id;
}

/** Whether the block is thinking, plain or encrypted. */
export function isThinkingBlock(block: ContentBlockParam | undefined): boolean {
  return block?.type === "thinking" || block?.type === "redacted_thinking";
}

function add(turns: Turn[], role: Turn["role"], blocks: readonly ContentBlockParam[]): void {
  if (blocks.length === 0) return;
  const last = turns.at(-1);
  if (last?.role === role) last.content.push(...blocks);
  else turns.push({ role, content: [...blocks] });
}

/** The user must speak first and last: newer models refuse to continue a text of their own. */
function closeEnds(turns: Turn[]): void {
  const [first] = turns;
  if (first === undefined) add(turns, "user", textBlocks("Begin."));
  else if (first.role === "assistant") {
    turns.unshift({ role: "user", content: textBlocks("[Earlier messages are not shown.]") });
  }
  const last = turns.at(-1);
  // A turn that Anthropic paused must be sent as it is, so that it continues where it stopped.
  const paused = /^(?:server|mcp)_tool_use$|_tool_result$/.test(last?.content.at(-1)?.type ?? "");
  if (last?.role === "assistant" && !paused) add(turns, "user", textBlocks("Continue."));
}
