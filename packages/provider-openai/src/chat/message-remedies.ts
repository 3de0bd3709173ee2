import { type Fields, field, isObject, listOf, plainId, textIn, withoutField } from "@ravi/kernel/provider";
import { keyOf, type Rejection, type Remedy, UNSUPPORTED } from "../failure/corrections.ts";
import { UNREADABLE } from "../failure/unreadable.ts";
import type { RequestBody } from "../wire/protocol.ts";
import { KEPT_FIELDS } from "./kept.ts";
import { MAX_ID, withSpeaker } from "./messages.ts";
import { refusesImages, withoutToolImages } from "./tool-images.ts";

/** A change to messages that the server refuses. Applied to this and all later requests. */
interface MessageRemedy {
  /** Whether the server's error message is about this. */
  readonly fits: (words: string) => boolean;
  readonly effect: string;
  /** With which status the server says so. Default: 400 or 422. */
  readonly statuses?: readonly number[] | undefined;
  /** The messages to send instead of this one, which follows `before`; undefined if there is nothing to change. */
  readonly change: (message: unknown, before: unknown) => object | undefined;
  /** What is sent instead of all messages, after `change`. */
  readonly join?: ((messages: readonly unknown[]) => readonly unknown[]) | undefined;
}

const KEPT = new RegExp(String.raw`\b(?:${KEPT_FIELDS.join("|")})\b`);

const REMEDIES: readonly MessageRemedy[] = [
  {
    // DeepSeek and Moonshot say this about turns of another model, which had no reasoning or has dropped it.
    fits: (words) => /reasoning_content/.test(words) && /missing|must be passed back/i.test(words),
    effect: "assistant messages without reasoning are sent with an empty reasoning_content from now on",
    change: (message) =>
      isObject(message) && message["role"] === "assistant" && message["reasoning_content"] === undefined
        ? { ...message, reasoning_content: "" }
        : undefined,
  },
  {
    fits: (words) => KEPT.test(words) && UNSUPPORTED.test(words),
    effect: "reasoning of earlier turns is left out from now on",
    change: (message) =>
      isObject(message) && KEPT_FIELDS.some((name) => name in message)
        ? KEPT_FIELDS.reduce(withoutField, message)
        : undefined,
  },
  {
    fits: (words) => /\bmessages\b.{0,60}\bname\b/.test(words) && UNSUPPORTED.test(words),
    effect: "the name of a speaker is sent in the text from now on",
    change: (message) => {
      const name = textIn(field(message, "name"));
      if (!isObject(message) || name === undefined) return undefined;
      const { content } = message;
      return {
        ...withoutField(message, "name"),
        content: withSpeaker(name, typeof content === "string" ? content : listOf(content)),
      };
    },
  },
  {
    // Mistral's own ids are of this form. Those of other providers, and of servers that host its models, are not.
    fits: (words) => /tool call id .{0,200}length of 9/i.test(words),
    effect: "ids of tool calls are sent as nine letters and digits from now on",
    change: (message) => withIds(message, nineLetters),
  },
  {
    // Anthropic says this, behind a gateway that passes the ids of other providers on.
    fits: (words) => /tool_use(?:\.|_)id: .{0,40}match pattern/i.test(words),
    effect: "ids of tool calls are sent as letters, digits, _ and - from now on",
    change: (message) => withIds(message, (id) => plainId(id, MAX_ID)),
  },
  {
    // Mistral's models say this, also on servers of others, if images follow the result of a tool, or a message that was sent meanwhile.
    fits: (words) => /role '?user'? after role '?tool\b/i.test(words),
    effect: "an assistant's message is sent between a tool's result and a user's message from now on",
    change: (message, before) =>
      field(message, "role") === "user" && field(before, "role") === "tool"
        ? [{ role: "assistant", content: "I have read the results." }, message]
        : undefined,
  },
  {
    // The templates of Qwen's models say this on vLLM, and on llama.cpp, which fails with 500.
    fits: (words) => /system message must be (?:at the )?(?:beginning|start|first)/i.test(words),
    statuses: [400, 422, 500],
    effect: "system messages that are not the first are sent as a user's from now on",
    change: laterSystem,
  },
  {
    // The templates of Gemma's and of older models of Mistral say this, and so does Perplexity.
    fits: (words) =>
      /\broles (?:must alternate|should be alternating)\b|\bshould alternate with assistant\b/i.test(words),
    statuses: [400, 422, 500],
    effect: "messages of one side in a row are sent as one from now on",
    change: (message, before) =>
      laterSystem(message, before) ?? (follows(message, before) ? [message] : undefined),
    join: joined,
  },
  {
    // Gemini demands a signature of each turn's first call. That is what it takes for calls of other models.
    fits: (words) => /missing a .?thought_signature/i.test(words),
    effect: "calls of other models are marked as such from now on",
    change: (message) => {
      const [first, ...others] = listOf(field(message, "tool_calls"));
      if (!isObject(message) || !isObject(first) || [first, ...others].some(isSigned)) return undefined;
      const extra_content = { google: { thought_signature: "skip_thought_signature_validator" } };
      return { ...message, tool_calls: [{ ...first, extra_content }, ...others] };
    },
  },
  {
    fits: refusesImages,
    // OpenRouter says it with 404, llama.cpp with 500.
    statuses: [400, 404, 422, 500],
    effect: "images that tools return are left out from now on, and the model is told so",
    change: (message) => withoutToolImages(message),
  },
];

/** The message with other ids of its calls or of the call that it answers; undefined if none changes. */
function withIds(message: unknown, rename: (id: string) => string): object | undefined {
  if (!isObject(message)) return undefined;
  const { tool_call_id: id, tool_calls: calls } = message;
  if (typeof id === "string") return rename(id) === id ? undefined : { ...message, tool_call_id: rename(id) };
  const ids = listOf(calls).map((call) => textIn(field(call, "id")) ?? "");
  if (ids.every((each) => rename(each) === each)) return undefined;
  return {
    ...message,
    tool_calls: listOf(calls).map((call, at) =>
      isObject(call) ? { ...call, id: rename(ids[at] ?? "") } : call,
    ),
  };
}

/** A system message that is not the first, as a user's. */
function laterSystem(message: unknown, before: unknown): object | undefined {
  if (!isObject(message) || message["role"] !== "system" || before === undefined) return undefined;
  return { role: "user", content: `<system>\n${textIn(message["content"]) ?? ""}\n</system>` };
}

/** Whether both are of one side, and neither has calls, which must stay before their results. */
function follows(message: unknown, before: unknown): boolean {
  const role = field(message, "role");
  if (role !== field(before, "role") || (role !== "user" && role !== "assistant")) return false;
  return [message, before].every((each) => field(each, "tool_calls") === undefined);
}

/** Messages of one side that follow each other become one. */
function joined(messages: readonly unknown[]): readonly unknown[] {
  const all: unknown[] = [];
  for (const message of messages) {
    const last = all.at(-1);
    if (!isObject(last) || !isObject(message) || !follows(message, last)) {
      all.push(message);
      continue;
    }
    const [first, second] = [partsOf(last), partsOf(message)];
    const content =
      typeof first === "string" && typeof second === "string"
        ? `${first}\n\n${second}`
        : [first, second].flatMap((each) =>
            typeof each === "string" ? [{ type: "text", text: each }] : each,
          );
    all[all.length - 1] = { ...withoutField(last, "name"), content };
  }
  return all;
}

/** With the name of the speaker in the text, since the other may have another one. */
function partsOf({ content, name }: Fields): string | readonly unknown[] {
  const said = typeof content === "string" ? content : listOf(content);
  return typeof name === "string" ? withSpeaker(name, said) : said;
}

function isSigned(call: unknown): boolean {
  return field(field(field(call, "extra_content"), "google"), "thought_signature") !== undefined;
}

const NINE_LETTERS = /^[a-zA-Z\d]{9}$/;

/** Deterministic: the same id always gives the same result, so calls and their results still match. */
function nineLetters(id: string): string {
  if (NINE_LETTERS.test(id)) return id;
  let hash = 7;
  for (const letter of id) hash = (hash * 31 + (letter.codePointAt(0) ?? 0)) % 36 ** 9;
  return hash.toString(36).padStart(9, "0");
}

/**
 * What to do if the server cannot read reasoning of the conversation, because another of its models, or another server, has sealed it. It is
 * left out from now on; that of later turns stays.
 */
export function sealRemedy({ status, message }: Rejection, sent: RequestBody): Remedy | undefined {
  if ((status !== 400 && status !== 404) || !UNREADABLE.test(message)) return undefined;
  const seals = new Set(listOf(sent["messages"]).flatMap((each) => sealsOf(each) ?? []));
  if (seals.size === 0) return undefined;
  return {
    param: "messages",
    repeats: true,
    isSingle: true,
    effect: "they have reasoning that the server cannot read, which is left out",
    apply: (body) => ({
      ...body,
      messages: listOf(body["messages"]).map((each) =>
        isObject(each) && seals.has(sealsOf(each) ?? "") ? withoutField(each, "reasoning_details") : each,
      ),
    }),
  };
}

function sealsOf(message: unknown): string | undefined {
  const details = field(message, "reasoning_details");
  return details === undefined ? undefined : keyOf(details);
}

/** What to change if the server refused the request because of something in its messages; undefined if nothing fits. */
export function messageRemedy({ status, message }: Rejection, sent: RequestBody): Remedy | undefined {
  const messages = listOf(sent["messages"]);
  const found = REMEDIES.find(
    ({ fits, change, statuses = [400, 422] }) =>
      statuses.includes(status ?? 0) &&
      fits(message) &&
      messages.some((each, at) => change(each, messages[at - 1]) !== undefined),
  );
  if (found === undefined) return undefined;
  const { effect, change, join = (all) => all } = found;
  return {
    param: "messages",
    repeats: true,
    effect,
    apply: (body) => ({
      ...body,
      messages: join(
        listOf(body["messages"]).flatMap((each, at, all) => change(each, all[at - 1]) ?? [each]),
      ),
    }),
  };
}
