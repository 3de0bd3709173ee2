import type { InboxMessage, JsonValue } from "@ravi/kernel";
import { orStopped, type Stoppable } from "./waiting.ts";

/** The messages to one execution. The same message (by its id) counts only once. */
export class Mailbox {
  private readonly waiting: InboxMessage[] = [];
  private readonly known = new Set<string>();
  private receiver: ((message: InboxMessage) => void) | undefined;
  private replies: Map<string, PromiseWithResolvers<JsonValue>> | undefined;

  get hasMail(): boolean {
    return this.waiting.length > 0;
  }

  /** Whether that message waits to be read. */
  holds(id: string): boolean {
    return this.waiting.some((message) => message.id === id);
  }

  /** Messages are read in the order of delivery, so those of one sender keep their order. */
  deliver(message: InboxMessage): void {
    if (this.known.has(message.id)) return;
    this.known.add(message.id);
    const { receiver } = this;
    this.receiver = undefined;
    if (receiver === undefined) this.waiting.push(message);
    else receiver(message);
  }

  take(): InboxMessage | undefined {
    return this.waiting.shift();
  }

  /** Waits for the next message. Rejects if the run is stopped. */
  async next(engine: Stoppable): Promise<InboxMessage> {
    const { promise, resolve } = Promise.withResolvers<InboxMessage>();
    this.receiver = resolve;
    try {
      return await orStopped(engine, promise);
    } finally {
      if (this.receiver === resolve) this.receiver = undefined;
    }
  }

  /** Marks a message that was read, now or before a crash, so that it does not come again. */
  markRead({ id }: InboxMessage): void {
    this.known.add(id);
    const at = this.waiting.findIndex((message) => message.id === id);
    if (at !== -1) this.waiting.splice(at, 1);
  }

  /** Resolves with the reply to that message. It may never do so. */
  replyTo(id: string): Promise<JsonValue> {
    return this.replyOf(id).promise;
  }

  reply(id: string, value: JsonValue): void {
    this.replyOf(id).resolve(value);
  }

  private replyOf(id: string): PromiseWithResolvers<JsonValue> {
    const replies = (this.replies ??= new Map<string, PromiseWithResolvers<JsonValue>>());
    let reply = replies.get(id);
    if (reply === undefined) replies.set(id, (reply = Promise.withResolvers()));
    return reply;
  }
}
