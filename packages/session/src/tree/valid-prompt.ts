import type { AssistantMessage, ChatMessage, ContentPart, ToolCall, ToolMessage } from "@ravi/kernel";
import { type IdGiver, uniqueIds } from "@ravi/kernel/provider";
import { isBlank } from "../queue/mailbox.ts";

/** The result that is shown to the model for a call that never returned. */
const NO_RESULT =
  "error: no result: the turn ended before this call returned. It may or may not have happened.";

/**
 * The conversation as a prompt that every provider accepts: each tool call is directly followed by its result, call ids are
 * unique, there is no result without its call, no empty message, and no two assistant messages in a row. A crash, an abort or a
 * fork in the middle of a turn leaves calls without results; the model is told so, and the stored session is not changed. A
 * prompt that is valid already is returned as it is.
 */
export function validPrompt(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  return isValid(messages) ? messages : joined(repaired(messages));
}

function isValid(messages: readonly ChatMessage[]): boolean {
  const used = new Set<string>();
  let open: string[] = [];
  let isAnswered = false;
  for (const message of messages) {
    const wasAnswered = isAnswered;
    isAnswered = message.role === "assistant";
    if (message.role === "tool") {
      if (open.shift() !== message.toolCallId) return false;
      continue;
    }
    if (open.length > 0 || isEmpty(message)) return false;
    if (message.role !== "assistant") continue;
    if (wasAnswered) return false;
    open = (message.toolCalls ?? []).map(({ id }) => id);
    for (const id of open) {
      if (id === "" || used.has(id)) return false;
      used.add(id);
    }
  }
  return open.length === 0;
}

function repaired(messages: readonly ChatMessage[]): ChatMessage[] {
  const results = resultsOf(messages);
  const ids = freshIds();
  const whole: ChatMessage[] = [];
  for (const [at, message] of messages.entries()) {
    if (message.role === "tool") continue;
    if (message.role !== "assistant" || callsOf(message).length === 0) {
      whole.push(message);
      continue;
    }
    const named = withFreshIds(message, ids);
    whole.push(named);
    for (const [n, call] of callsOf(named).entries()) {
      const original = callsOf(message)[n]?.id ?? call.id;
      const result = results.get(at)?.get(original)?.shift();
      whole.push(result === undefined ? missing(call) : withId(result, call.id));
    }
  }
  return whole;
}

/** Leaves out empty messages, and joins two assistant messages that follow each other directly. */
function joined(messages: readonly ChatMessage[]): ChatMessage[] {
  const whole: ChatMessage[] = [];
  for (const message of messages) {
    if (message.role !== "tool" && isEmpty(message)) continue;
    const last = whole.at(-1);
    if (message.role === "assistant" && last?.role === "assistant")
      whole[whole.length - 1] = { ...message, content: [...partsOf(last), ...partsOf(message)] };
    else whole.push(message);
  }
  return whole;
}

function partsOf({ content }: AssistantMessage): readonly ContentPart[] {
  if (typeof content !== "string") return content;
  return isBlank(content) ? [] : [{ type: "text", text: content }];
}

function isEmpty(message: ChatMessage): boolean {
  if (callsOf(message).length > 0) return false;
  const { content } = message;
  return typeof content === "string"
    ? isBlank(content)
    : content.every((part) => part.type === "text" && isBlank(part.text));
}

/**
 * The results that belong to the assistant message at each index, by call id. An id may be used again later for another call,
 * so the nearest message before a result counts.
 */
function resultsOf(messages: readonly ChatMessage[]): Map<number, Map<string, ToolMessage[]>> {
  const results = new Map<number, Map<string, ToolMessage[]>>();
  const open = new Map<string, ToolMessage[]>();
  for (const [at, message] of messages.entries()) {
    if (message.role === "tool") {
      open.get(message.toolCallId)?.push(message);
      continue;
    }
    const calls = callsOf(message);
    if (calls.length === 0) continue;
    const own = new Map(calls.map(({ id }): [string, ToolMessage[]] => [id, []]));
    for (const [id, list] of own) open.set(id, list);
    results.set(at, own);
  }
  return results;
}

function callsOf(message: ChatMessage): readonly ToolCall[] {
  return message.role === "assistant" ? (message.toolCalls ?? []) : [];
}

function missing(call: ToolCall): ToolMessage {
  return { role: "tool", toolCallId: call.id, name: call.name, content: NO_RESULT, isError: true };
}

function withId(result: ToolMessage, id: string): ToolMessage {
  return result.toolCallId === id ? result : { ...result, toolCallId: id };
}

/** The length that every provider accepts. */
const MAX_ID = 40;

export function freshIds(): IdGiver {
  return uniqueIds(MAX_ID);
}

/** The message with call ids that were not used before. Some servers start again at `call_0` in every turn. */
export function withFreshIds(message: AssistantMessage, ids: IdGiver): AssistantMessage {
  const { toolCalls } = message;
  if (toolCalls === undefined || toolCalls.length === 0) return message;
  let isSame = true;
  const fresh = toolCalls.map((call) => {
    const id = ids.give(call.id || "call");
    if (id === call.id) return call;
    isSame = false;
    return { ...call, id };
  });
  return isSame ? message : { ...message, toolCalls: fresh };
}
