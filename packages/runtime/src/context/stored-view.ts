import type { ChatMessage, JsonObject, JsonValue } from "@ravi/kernel";
import { Digest } from "./digest.ts";

/** What a strategy has made of the beginning of a conversation. */
export interface View {
  readonly strategy: string;
  /** How many messages of the conversation it replaces. */
  readonly covered: number;
  readonly messages: readonly ChatMessage[];
}

/**
 * A view as it is stored with the history, and recorded by each run that begins with it:
 *
 *     { "strategy": "Summarization", "covered": 40, "digest": "…", "messages": [[0, 1], { "role": "user", … }, [34, 40]] }
 *
 * Most of its messages are those of the conversation: they are written as ranges of them.
 */
export function storedView(
  { strategy, covered, messages }: View,
  transcript: readonly ChatMessage[],
): JsonValue {
  const places = new Map(transcript.slice(0, covered).map((message, at) => [message, at]));
  const items: (ChatMessage | [from: number, to: number])[] = [];
  for (const message of messages) {
    const at = places.get(message);
    const last = items.at(-1);
    if (at === undefined) items.push(message);
    else if (Array.isArray(last) && last[1] === at) last[1]++;
    else items.push([at, at + 1]);
  }
  const view = { strategy, covered, digest: digestOf(transcript, covered), messages: items };
  return JSON.parse(JSON.stringify(view)) as JsonValue;
}

/** Whether it is a view that the strategy has made of messages that were there by then. */
export function isViewOf(strategy: string, head: number, value: JsonValue | undefined): value is JsonObject {
  if (typeof value !== "object" || value === null || isList(value)) return false;
  return value["strategy"] === strategy && typeof value["covered"] === "number" && value["covered"] <= head;
}

/** The view of a conversation; undefined if it was made of other messages, since a history may be cleared and begun again. */
export function readView(
  strategy: string,
  transcript: readonly ChatMessage[],
  value: JsonValue | undefined,
): View | undefined {
  if (!isViewOf(strategy, transcript.length, value)) return undefined;
  const covered = Number(value["covered"]);
  const items = value["messages"] ?? null;
  if (!isList(items) || !items.every(isObject) || value["digest"] !== digestOf(transcript, covered))
    return undefined;
  const messages = items.flatMap((item) =>
    isList(item)
      ? transcript.slice(Number(item[0]), Number(item[1]))
      : Object.freeze(item as JsonObject & ChatMessage),
  );
  return { strategy, covered, messages };
}

function digestOf(transcript: readonly ChatMessage[], covered: number): string {
  const digest = new Digest();
  for (let at = 0; at < covered; at++) {
    const message = transcript[at];
    if (message !== undefined) digest.message(message);
  }
  return digest.name();
}

/** A message or a range. */
function isObject(value: JsonValue): value is JsonObject | readonly JsonValue[] {
  return typeof value === "object" && value !== null;
}

function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}
