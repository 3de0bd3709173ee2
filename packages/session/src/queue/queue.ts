import type { Inbox, InboxMessage, JsonObject, JsonValue } from "@ravi/kernel";

/** Something that was said to a running turn. */
export interface Queued {
  readonly kind: "steer" | "followUp";
  readonly text: string;
}

interface Mail extends Queued {
  readonly message: InboxMessage;
}

/**
 * What others say to a run. An inbox message is a text, or `{ steer: text }`: it is heard between two model calls; or
 * `{ followUp: text }`: it begins another turn when this one is over.
 */
function readMail(content: JsonValue): Queued {
  if (typeof content === "string") return { kind: "steer", text: content };
  if (isObject(content)) {
    const { steer, followUp } = content;
    if (typeof followUp === "string") return { kind: "followUp", text: followUp };
    if (typeof steer === "string") return { kind: "steer", text: steer };
  }
  return { kind: "steer", text: JSON.stringify(content) };
}

/** A message of nothing, or of spaces, is refused by providers, now and in every later turn. */
export function isBlank(text: string): boolean {
  return text.trim() === "";
}

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Reads an inbox and keeps apart what belongs into this turn and what comes after it. Each message is answered once. */
export class Mailbox {
  private readonly inbox: Inbox;
  private readonly steering: Mail[] = [];
  private readonly following: Mail[] = [];
  /** Read, and waiting for the answer of the turn that heard them. */
  private heard: Mail[] = [];

  constructor(inbox: Inbox) {
    this.inbox = inbox;
  }

  /** What the running turn is to hear now. */
  async takeSteering(): Promise<readonly string[]> {
    await this.read();
    const mail = this.steering.splice(0);
    this.heard.push(...mail);
    return mail.map(({ text }) => text);
  }

  /** What the next turn begins with, if there is to be one. What came too late to steer begins one too. */
  async takeNext(): Promise<string | undefined> {
    await this.read();
    const next = this.steering.shift() ?? this.following.shift();
    if (next !== undefined) this.heard.push(next);
    return next?.text;
  }

  get hasMore(): boolean {
    return this.steering.length + this.following.length > 0;
  }

  /** What was read and not heard by any turn. */
  leftover(): readonly Queued[] {
    return [...this.steering.splice(0), ...this.following.splice(0)].map(({ kind, text }) => ({
      kind,
      text,
    }));
  }

  /** Answers whoever spoke to the turn that has just ended. */
  async answer(output: string): Promise<void> {
    const heard = this.heard;
    this.heard = [];
    for (const { message } of heard) {
      await this.inbox.reply(message, output);
      await this.inbox.ack(message);
    }
  }

  private async read(): Promise<void> {
    while (this.inbox.hasMail?.() !== false) {
      const message = await this.inbox.take();
      if (message === undefined) return;
      const mail = { ...readMail(message.content), message };
      if (isBlank(mail.text)) this.heard.push(mail);
      else (mail.kind === "steer" ? this.steering : this.following).push(mail);
    }
  }
}
