import { type ChatMessage, type CompactionContext, InvalidValueError, type ToolSpec } from "@ravi/kernel";
import { checkPort, estimateTokens } from "@ravi/kernel/loop";

/**
 * Returns the tokens of a message. Must always return the same for the same message, because a replay has to get the same window.
 */
export type CountTokens = (message: ChatMessage) => number;

/** Counts tokens. Each message object is counted once, and the count is kept as long as the object lives. */
export interface TokenCounter {
  message(message: ChatMessage): number;
  /** The tokens of what is part of every request: the system prompt, the tools, and messages that are always sent. */
  fixed(context: CompactionContext, messages: readonly ChatMessage[]): number;
  /** The tokens of a whole request with these messages. */
  request(messages: readonly ChatMessage[], context: CompactionContext): number;
  /**
   * Whether the request takes more than `limit` tokens. Counts from the newest message and stops as soon as the answer is known.
   */
  exceeds(messages: readonly ChatMessage[], context: CompactionContext, limit: number): boolean;
}

/** Strategies with the same `countTokens` share one counter. */
const counters = new WeakMap<CountTokens, TokenCounter>();

/** The counter for a `countTokens` function; one for each function. */
export function tokenCounter(count: CountTokens = estimateTokens): TokenCounter {
  checkPort("countTokens", count, "a function that takes a message and returns its number of tokens");
  let counter = counters.get(count);
  if (counter === undefined) counters.set(count, (counter = newCounter(count)));
  return counter;
}

function newCounter(count: CountTokens): TokenCounter {
  const messages = new WeakMap<ChatMessage, number>();
  const tools = new WeakMap<ToolSpec, number>();
  let system = { text: "", tokens: 0 };

  function ofMessage(message: ChatMessage): number {
    let tokens = messages.get(message);
    if (tokens === undefined) messages.set(message, (tokens = checked(count(message))));
    return tokens;
  }

  function ofTool(tool: ToolSpec): number {
    let tokens = tools.get(tool);
    if (tokens === undefined) {
      const { name, description, parameters } = tool;
      const content = JSON.stringify({ name, description, parameters });
      tools.set(tool, (tokens = checked(count({ role: "system", content }))));
    }
    return tokens;
  }

  function ofSystem(text: string): number {
    if (system.text !== text) system = { text, tokens: checked(count({ role: "system", content: text })) };
    return system.tokens;
  }

  function fixed(context: CompactionContext, list: readonly ChatMessage[]): number {
    let tokens = 0;
    for (const tool of context.tools ?? []) tokens += ofTool(tool);
    for (const message of context.alsoSent ?? []) tokens += ofMessage(message);
    const first = list[0];
    // If the list already contains the system prompt as its first message, it is counted there.
    const carried = first?.role === "system" && first.content === context.system;
    if (context.system !== undefined && context.system !== "" && !carried) tokens += ofSystem(context.system);
    return tokens;
  }

  return {
    message: ofMessage,
    fixed,
    request(list, context) {
      let tokens = fixed(context, list);
      for (const message of list) tokens += ofMessage(message);
      return tokens;
    },
    exceeds(list, context, limit) {
      let tokens = fixed(context, list);
      for (let at = list.length - 1; at >= 0 && tokens <= limit; at--) {
        const message = list[at];
        if (message !== undefined) tokens += ofMessage(message);
      }
      return tokens > limit;
    },
  };
}

function checked(tokens: unknown): number {
  if (typeof tokens === "number" && Number.isFinite(tokens) && tokens >= 0) return tokens;
  throw new InvalidValueError({
    field: "countTokens",
    value: tokens,
    expected: "a function that returns a finite number of at least 0",
  });
}
