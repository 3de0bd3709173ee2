import type { AssistantMessage, ChatMessage, ContentPart, ToolCall, ToolMessage } from "@ravi/kernel";
import { isBlank } from "../queue/queue.ts";

/** What stands in for the result of a call that never came back. */
const NO_RESULT =
  "error: no result: the turn ended before this call returned. It may or may not have happened.";

/**
 * The same conversation as a prompt that every provider takes: each tool call is followed directly by its result, ids are
 * unique, no result stands without its call, no message is empty and no answer follows another. A crash, an abort or a fork
 * in the middle of a turn leaves calls without results; the model is told so, and the session itself stays as it was written.
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
  const used = new Set<string>();
  const whole: ChatMessage[] = [];
  for (const [at, message] of messages.entries()) {
    if (message.role === "tool") continue;
    if (message.role !== "assistant" || (message.toolCalls ?? []).length === 0) {
      whole.push(message);
      continue;
    }
    const results = resultsAfter(messages, at);
    const named = withFreshIds(message, used);
    whole.push(named);
    for (const [n, call] of (named.toolCalls ?? []).entries()) {
      const original = message.toolCalls?.[n]?.id ?? call.id;
      const result = results.get(original)?.shift();
      whole.push(result === undefined ? missing(call) : withId(result, call.id));
    }
  }
  return whole;
}

/** Leaves out what is empty, and makes one answer of two that nothing stands between. */
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

/** The results that belong to a message, by the id that they name. The id may come again later, for another call. */
function resultsAfter(messages: readonly ChatMessage[], at: number): Map<string, ToolMessage[]> {
  const results = new Map<string, ToolMessage[]>();
  const mine = new Set(callsOf(messages[at]).map(({ id }) => id));
  for (let next = at + 1; next < messages.length; next++) {
    const message = messages[next];
    if (callsOf(message).some(({ id }) => mine.has(id))) break;
    if (message?.role !== "tool" || !mine.has(message.toolCallId)) continue;
    const list = results.get(message.toolCallId);
    if (list === undefined) results.set(message.toolCallId, [message]);
    else list.push(message);
  }
  return results;
}

function callsOf(message: ChatMessage | undefined): readonly ToolCall[] {
  return message?.role === "assistant" ? (message.toolCalls ?? []) : [];
}

function missing(call: ToolCall): ToolMessage {
  return { role: "tool", toolCallId: call.id, name: call.name, content: NO_RESULT, isError: true };
}

function withId(result: ToolMessage, id: string): ToolMessage {
  return result.toolCallId === id ? result : { ...result, toolCallId: id };
}

/** Room for a number, within what every provider takes. */
const MAX_BASE = 32;

/** A message whose calls have ids that were not used before. Some servers begin at `call_0` in every turn. */
export function withFreshIds(message: AssistantMessage, used: Set<string>): AssistantMessage {
  const { toolCalls } = message;
  if (toolCalls === undefined || toolCalls.length === 0) return message;
  let isSame = true;
  const fresh = toolCalls.map((call) => {
    const id = freshId(call.id, used);
    used.add(id);
    if (id === call.id) return call;
    isSame = false;
    return { ...call, id };
  });
  return isSame ? message : { ...message, toolCalls: fresh };
}

function freshId(id: string, used: ReadonlySet<string>): string {
  if (id !== "" && !used.has(id)) return id;
  const base = id === "" ? "call" : id.slice(0, MAX_BASE);
  let n = 2;
  while (used.has(`${base}_${n}`)) n++;
  return `${base}_${n}`;
}
