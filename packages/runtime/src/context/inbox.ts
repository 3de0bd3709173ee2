import type { Inbox, InboxMessage, JsonValue } from "@ravi/kernel";
import type { Execution } from "./execution.ts";
import { orStopped } from "./waits.ts";

const MOST_DELIVERIES = 3;

/** What others say to an execution. Reading is recorded, so a replay reads the same; the same message twice counts once. */
export class ExecutionInbox implements Inbox {
  readonly input: string;
  /** Messages that were handed back too often. */
  readonly dead: InboxMessage[] = [];
  private readonly exec: Execution;
  private readonly waiting: InboxMessage[] = [];
  private readonly known = new Set<string>();
  private readonly deliveries = new Map<string, number>();
  private receiver: ((message: InboxMessage) => void) | undefined;
  private readonly replies = new Map<string, PromiseWithResolvers<JsonValue>>();
  private reads = 0;

  constructor(exec: Execution, input: string) {
    this.exec = exec;
    this.input = input;
  }

  /** A message from outside. FIFO, and with that FIFO per sender. */
  deliver(message: InboxMessage): void {
    if (this.known.has(message.id)) return;
    this.known.add(message.id);
    this.enqueue(message);
  }

  replyTo(id: string): Promise<JsonValue> {
    return this.replyOf(id).promise;
  }

  async take(): Promise<InboxMessage | undefined> {
    const read = await this.exec.engine.fact(`inbox#${++this.reads}`, () => this.waiting.shift() ?? null);
    return this.opened(read);
  }

  async receive(): Promise<InboxMessage> {
    const read = await this.exec.engine.fact(`inbox#${++this.reads}`, () => this.next());
    const message = this.opened(read);
    if (message === undefined)
      throw new TypeError("an empty inbox was recorded where a message was waited for");
    return message;
  }

  async ack(message: InboxMessage): Promise<void> {
    this.deliveries.delete(message.id);
  }

  async nack(message: InboxMessage, reason: string): Promise<void> {
    const delivered = (this.deliveries.get(message.id) ?? 1) + 1;
    this.deliveries.set(message.id, delivered);
    if (delivered <= MOST_DELIVERIES) {
      this.enqueue(message);
      return;
    }
    this.dead.push(message);
    this.exec.tree.ports.logger?.warn(`${this.exec.agentId} refused a message three times; it is put aside`, {
      id: message.id,
      from: message.from,
      reason,
    });
  }

  async reply(message: InboxMessage, value: JsonValue): Promise<void> {
    const recorded = await this.exec.engine.fact(`reply:${message.id}`, () => value);
    this.replyOf(message.id).resolve(recorded);
  }

  /** The same inbox with another input, as a layer around the run wants it. */
  withInput(input: string): Inbox {
    return {
      input,
      take: () => this.take(),
      receive: () => this.receive(),
      ack: (message) => this.ack(message),
      nack: (message, reason) => this.nack(message, reason),
      reply: (message, value) => this.reply(message, value),
    };
  }

  private enqueue(message: InboxMessage): void {
    const { receiver } = this;
    this.receiver = undefined;
    if (receiver === undefined) this.waiting.push(message);
    else receiver(message);
  }

  private async next(): Promise<InboxMessage> {
    const first = this.waiting.shift();
    if (first !== undefined) return first;
    const { promise, resolve } = Promise.withResolvers<InboxMessage>();
    this.receiver = resolve;
    try {
      return await orStopped(this.exec, promise);
    } finally {
      if (this.receiver === resolve) this.receiver = undefined;
    }
  }

  /** What was read on record will not be delivered again. */
  private opened(read: JsonValue): InboxMessage | undefined {
    if (read === null) return undefined;
    const message = read as InboxMessage;
    this.known.add(message.id);
    const at = this.waiting.findIndex(({ id }) => id === message.id);
    if (at !== -1) this.waiting.splice(at, 1);
    return message;
  }

  private replyOf(id: string): PromiseWithResolvers<JsonValue> {
    let reply = this.replies.get(id);
    if (reply === undefined) this.replies.set(id, (reply = Promise.withResolvers()));
    return reply;
  }
}
