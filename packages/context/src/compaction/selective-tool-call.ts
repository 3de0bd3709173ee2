import {
  type AssistantMessage,
  type ChatMessage,
  checkFields,
  checkInteger,
  type CompactionStrategy,
  textOf,
} from "@ravi/kernel";
import { hasCalls } from "./summary/prompt-check.ts";
import { markValid, validPrompt } from "./prompt.ts";

export interface SelectiveToolCallOptions {
  /** How many groups of tool calls are kept, counted from the newest. Default: 5. */
  readonly groups?: number | undefined;
}

/**
 * Keeps the newest groups (an assistant message with tool calls, and their results) whole. Of an older group only the assistant's
 * text is kept, as a plain message; its calls and results are removed together. All other messages are kept.
 */
export class SelectiveToolCall implements CompactionStrategy {
  readonly name = "SelectiveToolCall";
  readonly groups: number;
  private readonly textMessages = new WeakMap<AssistantMessage, AssistantMessage>();

  constructor(options: SelectiveToolCallOptions = {}) {
    checkFields("SelectiveToolCall", options, ["groups"]);
    this.groups = checkInteger("SelectiveToolCall.groups", options.groups ?? 5, 1);
  }

  compact(messages: readonly ChatMessage[]): readonly ChatMessage[] {
    const prompt = validPrompt(messages);
    const end = this.firstKept(prompt);
    if (end === undefined) return prompt;
    const kept: ChatMessage[] = [];
    for (const message of prompt.slice(0, end)) {
      if (message.role === "tool") continue;
      if (!hasCalls(message)) kept.push(message);
      else if (textOf(message).trim() !== "") kept.push(this.textOnly(message));
    }
    return markValid(kept.concat(prompt.slice(end)));
  }

  /** The index of the oldest kept group, or undefined if there is no older one to cut. */
  private firstKept(prompt: readonly ChatMessage[]): number | undefined {
    let count = 0;
    let oldest: number | undefined;
    for (let at = prompt.length - 1; at >= 0; at--) {
      const message = prompt[at];
      if (message === undefined || !hasCalls(message)) continue;
      if (++count > this.groups) return oldest;
      oldest = at;
    }
    return undefined;
  }

  private textOnly(message: AssistantMessage): AssistantMessage {
    let textOnly = this.textMessages.get(message);
    if (textOnly === undefined) {
      textOnly = Object.freeze({ role: "assistant", content: textOf(message) });
      this.textMessages.set(message, textOnly);
    }
    return textOnly;
  }
}
