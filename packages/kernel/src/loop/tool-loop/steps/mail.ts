import type { Inbox, InboxMessage } from "../../../agent/inbox.ts";
import type { UserMessage } from "../../../model/messages.ts";
import { userMessage } from "../../attachments.ts";

/** Messages to an agent while it works. They are read between turns, and replied to with the agent's answer. */
export class Mail {
  private readonly inbox: Inbox;
  /** Created with the first message. */
  private unanswered: InboxMessage[] | undefined;

  constructor(inbox: Inbox) {
    this.inbox = inbox;
  }

  /** Whether there are messages to read. Costs nothing if there are none. */
  get isWaiting(): boolean {
    return this.inbox.hasMail?.() === true;
  }

  /** All messages that have arrived, in the form that the model reads. */
  async take(): Promise<readonly UserMessage[]> {
    const messages: UserMessage[] = [];
    while (this.isWaiting) {
      const message = await this.inbox.take();
      if (message === undefined) break;
      (this.unanswered ??= []).push(message);
      messages.push(toUserMessage(message));
    }
    return messages;
  }

  /** Sends the agent's answer to everyone who has asked. */
  async answer(text: string): Promise<void> {
    for (const message of this.unanswered?.splice(0) ?? []) await this.inbox.reply(message, text);
  }

  get hasQuestions(): boolean {
    return this.unanswered !== undefined && this.unanswered.length > 0;
  }
}

function toUserMessage({ from, content, attachments }: InboxMessage): UserMessage {
  const text = typeof content === "string" ? content : JSON.stringify(content);
  return userMessage(from === "user" ? text : `[message from ${from}] ${text}`, attachments);
}
