import { type ChatMessage, checkFields, checkInteger, InvalidValueError } from "@ravi/kernel";
import type { ChatMiddleware } from "../types.ts";

export interface HistoryTruncatorOptions {
  /** How many of the newest messages are kept, not counting system messages. Default: 100. */
  readonly maxMessages?: number | undefined;
}

/** Sends the model only the system messages and the newest other messages. The stored history is not changed. */
export function historyTruncator(options: HistoryTruncatorOptions = {}): ChatMiddleware {
  checkFields("historyTruncator", options, ["maxMessages"]);
  const maxMessages = checkInteger("historyTruncator.maxMessages", options.maxMessages ?? 100, 1);
  return {
    level: "chat",
    name: "historyTruncator",
    async process(context, next) {
      const messages = truncateHistory(context.request.messages, maxMessages);
      if (messages !== context.request.messages) context.request = { ...context.request, messages };
      await next();
    },
  };
}

/**
 * Returns the system messages and the newest `keep` others. If the cut would fall between a tool call and its results, it is
 * moved back to the call: every provider refuses a result without its call, and the newest turn must stay whole.
 */
export function truncateHistory(messages: readonly ChatMessage[], keep: number): readonly ChatMessage[] {
  if (!isMessages(messages))
    throw new InvalidValueError({ field: "messages", value: messages, expected: "an array of messages" });
  if (!(typeof keep === "number" && keep >= 0))
    throw new InvalidValueError({ field: "keep", value: keep, expected: "a number of at least 0" });
  let from = messages.length;
  for (let left = keep; from > 0 && left > 0; from--) if (messages[from - 1]?.role !== "system") left--;
  while (from > 0 && messages[from]?.role === "tool") from--;
  const dropped = messages.slice(0, from);
  if (dropped.every(({ role }) => role === "system")) return messages;
  return [...dropped.filter(({ role }) => role === "system"), ...messages.slice(from)];
}

function isMessages(value: unknown): boolean {
  return Array.isArray(value) && value.every((message) => typeof message === "object" && message !== null);
}
