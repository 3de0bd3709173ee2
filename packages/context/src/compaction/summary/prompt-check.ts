import type { AssistantMessage, ChatMessage, ToolCall } from "@ravi/kernel";

/** An assistant message with tool calls. */
export type CallingMessage = AssistantMessage & { readonly toolCalls: readonly ToolCall[] };

export function hasCalls(message: ChatMessage): message is CallingMessage {
  return message.role === "assistant" && message.toolCalls !== undefined && message.toolCalls.length > 0;
}

/** How far a list has been checked, so that of a list that has only grown only the new part is checked. */
interface Progress {
  readonly seen: ChatMessage[];
  readonly ids: Set<string>;
  /** The calls of the last group that have no result yet. */
  open: string[];
}

/** Keyed by the conversation's first user message: every window of the conversation has it, and no other conversation does. */
const progress = new WeakMap<ChatMessage, Progress>();

/** Whether every call is directly followed by its results, every result has its call, and no id is used twice. */
export function isValidPrompt(messages: readonly ChatMessage[]): boolean {
  const anchor = messages.find((message) => message.role === "user");
  const before = anchor === undefined ? undefined : progress.get(anchor);
  const now = before !== undefined && startsWith(messages, before.seen) ? before : begin();
  for (let at = now.seen.length; at < messages.length; at++) {
    const message = messages[at];
    if (message === undefined || !accepts(now, message)) {
      if (anchor !== undefined) progress.delete(anchor);
      return false;
    }
    now.seen.push(message);
  }
  if (anchor !== undefined) progress.set(anchor, now);
  return now.open.length === 0;
}

function begin(): Progress {
  return { seen: [], ids: new Set(), open: [] };
}

function accepts(now: Progress, message: ChatMessage): boolean {
  if (message.role === "tool") {
    const at = now.open.indexOf(message.toolCallId);
    if (at !== -1) now.open.splice(at, 1);
    return at !== -1;
  }
  if (now.open.length > 0) return false;
  if (!hasCalls(message)) return true;
  now.open = message.toolCalls.map((call) => call.id);
  return now.open.every((id) => now.ids.size !== now.ids.add(id).size);
}

/** Whether `list` begins with the very same message objects. */
export function startsWith(list: readonly ChatMessage[], prefix: readonly ChatMessage[]): boolean {
  if (prefix.length > list.length) return false;
  for (let at = 0; at < prefix.length; at++) if (list[at] !== prefix[at]) return false;
  return true;
}
