import type { Inbox, InboxMessage } from "@ravi/kernel";
import type { LoopInput } from "@ravi/kernel/loop";
import type { Queued } from "./mailbox.ts";

/** The inbox of a session that runs without a runtime. Unread messages stay for the next turn. */
export class OwnInbox implements Inbox {
  readonly input: string;
  readonly attachments: Inbox["attachments"];
  private readonly waiting: Queued[];
  private readonly now: () => number;
  private read = 0;

  constructor({ input, attachments }: LoopInput, waiting: Queued[], now: () => number) {
    this.input = input;
    this.attachments = attachments;
    this.waiting = waiting;
    this.now = now;
  }

  hasMail(): boolean {
    return this.waiting.length > 0;
  }

  async take(): Promise<InboxMessage | undefined> {
    const next = this.waiting.shift();
    if (next === undefined) return undefined;
    const { kind, text, attachments } = next;
    return { id: `own-${++this.read}`, from: "user", content: { [kind]: text }, attachments, at: this.now() };
  }

  /** Never called: a session does not wait for messages, it ends if there are none. */
  receive(): Promise<InboxMessage> {
    return Promise.reject(new TypeError("a session without a runtime does not wait for messages"));
  }

  // There is nobody to reply to: the sender of a message reads the events.
  async ack(): Promise<void> {}
  async nack(): Promise<void> {}
  async reply(): Promise<void> {}
}
