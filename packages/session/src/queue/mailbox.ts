import type { Attachment, Inbox, InboxMessage, UserMessage } from "@ravi/kernel";
import { type LoopInput, userMessage } from "@ravi/kernel/loop";
import { fieldsOf, stringOr } from "@ravi/kernel/provider";

/** A message to a running turn: `steer` is read between two model calls, `followUp` begins another turn. */
export interface Queued {
  readonly kind: "steer" | "followUp";
  readonly text: string;
  /** Pictures and files that came with it. */
  readonly attachments?: readonly Attachment[] | undefined;
}

interface Mail extends Queued {
  readonly message: InboxMessage;
}

/**
 * Reads an inbox message. A text or `{ steer: text }` is read by the running turn between two model calls; `{ followUp: text }`
 * begins another turn when this one is over.
 */
function readMessage({ content, attachments }: InboxMessage): Queued {
  if (typeof content === "string") return { kind: "steer", text: content, attachments };
  const { steer, followUp } = fieldsOf(content);
  if (typeof followUp === "string") return { kind: "followUp", text: followUp, attachments };
  return { kind: "steer", text: stringOr(steer, JSON.stringify(content)), attachments };
}

function toQueued({ kind, text, attachments }: Mail): Queued {
  return { kind, text, attachments };
}

/** Blank messages must not be stored: providers would refuse them, in this turn and in every later one. */
export function isBlank(text: string): boolean {
  return text.trim() === "";
}

/** Reads an inbox and separates messages for this turn from those for the next one. Each message is answered once. */
export class Mailbox {
  private readonly inbox: Inbox;
  private readonly steering: Mail[] = [];
  private readonly following: Mail[] = [];
  /** The message that the next turn begins with, until it is stored. */
  private first: Mail | undefined;
  /** Messages that a turn has read and that wait for its answer. */
  private unanswered: Mail[] = [];

  constructor(inbox: Inbox) {
    this.inbox = inbox;
  }

  /** Stores the messages for the running turn; whether there were any. What cannot be stored waits for the next turn. */
  async storeSteering(store: (message: UserMessage) => Promise<unknown>): Promise<boolean> {
    await this.read();
    let isAny = false;
    for (let mail = this.steering.shift(); mail !== undefined; mail = this.steering.shift()) {
      isAny = true;
      try {
        await store(userMessage(mail.text, mail.attachments));
      } catch (error) {
        this.steering.unshift(mail);
        throw error;
      }
      this.unanswered.push(mail);
    }
    return isAny;
  }

  /** What the next turn begins with, if anything. A steering message that came too late for its turn also begins a new one. */
  async takeNext(): Promise<LoopInput | undefined> {
    await this.read();
    const next = (this.first = this.steering.shift() ?? this.following.shift());
    return next && { input: next.text, attachments: next.attachments };
  }

  /** Stores the message that the turn begins with. */
  async storeFirst(store: () => Promise<unknown>): Promise<void> {
    await store();
    if (this.first !== undefined) this.unanswered.push(this.first);
    this.first = undefined;
  }

  get hasMore(): boolean {
    return this.steering.length + this.following.length > 0;
  }

  /** Removes and returns messages that were taken from the inbox but read by no turn. */
  leftover(): readonly Queued[] {
    return [...this.steering.splice(0), ...this.following.splice(0)].map(toQueued);
  }

  /** The same after the last turn, with the message that it began with, if the turn ended before that was stored. */
  unstored(): readonly Queued[] {
    return [...(this.first === undefined ? [] : [toQueued(this.first)]), ...this.leftover()];
  }

  /** Replies to all messages that the turn which has just ended has read. */
  async answer(output: string): Promise<void> {
    const unanswered = this.unanswered;
    this.unanswered = [];
    for (const { message } of unanswered) {
      await this.inbox.reply(message, output);
      await this.inbox.ack(message);
    }
  }

  private async read(): Promise<void> {
    while (this.inbox.hasMail?.() !== false) {
      const message = await this.inbox.take();
      if (message === undefined) return;
      const mail = { ...readMessage(message), message };
      if (isBlank(mail.text) && mail.attachments === undefined) this.unanswered.push(mail);
      else (mail.kind === "steer" ? this.steering : this.following).push(mail);
    }
  }
}
