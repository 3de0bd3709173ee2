import { type ChatMessage, InvalidValueError, type ToolCall, type ToolMessage } from "@ravi/kernel";
import { uniqueIds } from "@ravi/kernel/provider";
import { type CallingMessage, hasCalls, isValidPrompt } from "./summary/prompt-check.ts";

/** The result of a call that never returned, so that the model knows about it. */
const NO_RESULT = "No result: the run ended before this call returned. It may or may not have happened.";

/**
 * Makes a prompt that every provider accepts: each tool call is directly followed by its results, ids are unique, and no result
 * is without its call. A list that is valid already is returned as it is. A call without a result gets one that says so, a result
 * that was separated from its call is moved back, a result without a call is left out, and an id that was used before (some
 * servers start at `call_0` in every turn) gets a number.
 *
 * In a valid prompt, a new group begins at every message that is not a tool's. All strategies cut only there.
 */
export function validPrompt(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  if (isMarked(messages)) return messages;
  if (!Array.isArray(messages) || messages.some(isNotObject))
    throw new InvalidValueError({ field: "messages", value: messages, expected: "an array of messages" });
  if (isValidPrompt(messages)) return markValid(messages);
  return markValid(repair(messages));
}

function isNotObject(message: unknown): boolean {
  return typeof message !== "object" || message === null;
}

/** Where the last group begins; 0 in an empty list. */
export function lastGroupStart(prompt: readonly ChatMessage[]): number {
  let at = prompt.length - 1;
  while (at > 0 && prompt[at]?.role === "tool") at--;
  return Math.max(at, 0);
}

/** The number of system messages at the start. No strategy touches them. */
export function countLeadingSystem(prompt: readonly ChatMessage[]): number {
  let count = 0;
  while (prompt[count]?.role === "system") count++;
  return count;
}

interface Mark {
  readonly length: number;
  readonly last: ChatMessage | undefined;
}

/** Lists that are known to be valid, so that composed strategies check their input only once. */
const marks = new WeakMap<readonly ChatMessage[], Mark>();

/** Marks a list that is valid by construction. If the list grows afterwards, it is checked again. */
export function markValid(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  if (!isMarked(messages)) marks.set(messages, { length: messages.length, last: messages.at(-1) });
  return messages;
}

function isMarked(messages: readonly ChatMessage[]): boolean {
  const mark = marks.get(messages);
  return mark !== undefined && mark.length === messages.length && mark.last === messages.at(-1);
}

interface CallSlot {
  readonly call: ToolCall;
  result: ToolMessage | undefined;
  /** The index of the result in the original list. Results keep their order; inserted ones come last. */
  place: number;
}

function repair(messages: readonly ChatMessage[]): ChatMessage[] {
  const slots = pair(messages);
  const ids = uniqueIds();
  const repaired: ChatMessage[] = [];
  messages.forEach((message, at) => {
    if (message.role === "tool") return;
    const group = slots.get(at);
    if (group === undefined || !hasCalls(message)) {
      repaired.push(message);
      return;
    }
    const named = group.map(({ call }) => ids.give(call.id));
    const renamed = group.some(({ call }, n) => call.id !== named[n]);
    repaired.push(renamed ? withIds(message, named) : message);
    const results = group.map(({ call, result, place }, n) => ({
      place,
      message: resultOf(call, result, named[n] ?? call.id),
    }));
    for (const result of results.toSorted((a, b) => a.place - b.place)) repaired.push(result.message);
  });
  return repaired;
}

/** Assigns to each call the first result with its id that comes before the id is used again. */
function pair(messages: readonly ChatMessage[]): Map<number, CallSlot[]> {
  const slots = new Map<number, CallSlot[]>();
  const open = new Map<string, CallSlot[]>();
  messages.forEach((message, at) => {
    if (message.role === "tool") {
      const slot = open.get(message.toolCallId)?.shift();
      if (slot === undefined) return;
      slot.result = message;
      slot.place = at;
    } else if (hasCalls(message)) {
      const group = message.toolCalls.map((call): CallSlot => ({
        call,
        result: undefined,
        place: messages.length,
      }));
      for (const { call } of group) open.set(call.id, []);
      for (const slot of group) open.get(slot.call.id)?.push(slot);
      slots.set(at, group);
    }
  });
  return slots;
}

function withIds(message: CallingMessage, ids: readonly string[]): ChatMessage {
  return cachedRepair(message, ids.join("\n"), () => ({
    ...message,
    toolCalls: message.toolCalls.map((call, n) => ({ ...call, id: ids[n] ?? call.id })),
  }));
}

function resultOf(call: ToolCall, result: ToolMessage | undefined, id: string): ChatMessage {
  if (result?.toolCallId === id) return result;
  return cachedRepair(result ?? call, id, () =>
    result === undefined
      ? { role: "tool", toolCallId: id, name: call.name, content: NO_RESULT, isError: true }
      : { ...result, toolCallId: id },
  );
}

const repairs = new WeakMap<object, Map<string, ChatMessage>>();

/**
 * The same repair returns the same object every time, so that caches by object (token counts, hashes, summaries) keep working.
 */
function cachedRepair(original: object, variant: string, make: () => ChatMessage): ChatMessage {
  let versions = repairs.get(original);
  if (versions === undefined) repairs.set(original, (versions = new Map<string, ChatMessage>()));
  let version = versions.get(variant);
  if (version === undefined) versions.set(variant, (version = Object.freeze(make())));
  return version;
}
