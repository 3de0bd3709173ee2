import type { ChatMessage } from "@ravi/kernel";
import { freshIds, validPrompt } from "../tree/valid-prompt.ts";

/** The messages that are sent to the model in this turn. The list only grows, until a compaction starts a new one. */
export class PromptList {
  readonly messages: ChatMessage[];
  /** Gives ids to new tool calls that no call in the list has. */
  readonly callIds = freshIds();

  constructor(system: string, history: readonly ChatMessage[]) {
    this.messages = system === "" ? [] : [{ role: "system", content: system }];
    for (const message of validPrompt(history)) {
      this.push(message);
      if (message.role === "assistant") for (const { id } of message.toolCalls ?? []) this.callIds.give(id);
    }
  }

  push(message: ChatMessage): void {
    this.messages.push(message);
  }
}
