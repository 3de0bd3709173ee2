import type { Inbox, InboxMessage } from "../../agent/inbox.ts";
import type { UserMessage } from "../../model/messages.ts";

/** What others say to an agent while it works: read between two turns, and answered with its answer. */
export class Mail {
  private readonly inbox: Inbox;
  /** Made for the first of them. */
  private unanswered: InboxMessage[] | undefined;

  constructor(inbox: Inbox) {
    this.inbox = inbox;
  }

  /** Whether it is worth asking. Costs nothing where nobody has written. */
  get isWaiting(): boolean {
    return this.inbox.hasMail?.() === true;
  }

  /** All that is here, as the model reads it. */
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

  /** Whoever has asked gets the agent's next answer. */
  async answer(text: string): Promise<void> {
    for (const message of this.unanswered?.splice(0) ?? []) await this.inbox.reply(message, text);
  }

  get hasQuestions(): boolean {
    return this.unanswered !== undefined && this.unanswered.length > 0;
  }
}

function toUserMessage({ from, content }: InboxMessage): UserMessage {
  const text = typeof content === "string" ? content : JSON.stringify(content);
  return { role: "user", content: from === "user" ? text : `[message from ${from}] ${text}` };
}
