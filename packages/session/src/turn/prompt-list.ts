import type { ChatMessage } from "@ravi/kernel";
import { CallIds, validPrompt } from "../tree/valid-prompt.ts";

/** The messages that are sent to the model in this turn. The list only grows, until a compaction starts a new one. */
export class PromptList {
  readonly messages: ChatMessage[];
  /** The ids of all tool calls in the list. */
  readonly callIds = new CallIds();

  constructor(system: string, history: readonly ChatMessage[]) {
    this.messages = system === "" ? [] : [{ role: "system", content: system }];
    for (const message of validPrompt(history)) this.push(message);
  }

  push(message: ChatMessage): void {
    this.messages.push(message);
    if (message.role === "assistant") for (const { id } of message.toolCalls ?? []) this.callIds.add(id);
  }
}
