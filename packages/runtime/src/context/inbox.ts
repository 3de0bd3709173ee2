import type { DurableEngine, Inbox, InboxMessage, JsonValue, MaybePromise } from "@ravi/kernel";
import { checkMessage } from "@ravi/kernel/loop";
import { logOf } from "../run/run-log.ts";
import type { Execution } from "./execution.ts";

const MAX_DELIVERIES = 3;

/** The messages to one execution. What it reads is recorded, so a replay reads the same. */
export class ExecutionInbox implements Inbox {
  readonly input: string;
  readonly attachments: Inbox["attachments"];
  private readonly exec: Execution;
  protected readonly engine: DurableEngine;
  /** Messages that `nack` has handed back. */
  private returned: InboxMessage[] | undefined;
  private deliveries: Map<string, number> | undefined;
  private replied: Set<string> | undefined;
  private reads = 0;
  /** The key of the next read. Kept ready, because `hasMail` needs it before every turn. */
  protected nextRead = "inbox#1";

  constructor(exec: Execution) {
    const { engine } = exec;
    this.exec = exec;
    this.engine = engine;
    this.input = engine.start.input;
    this.attachments = engine.start.attachments;
  }

  /** Makes an inbox. It has `hasMail` only if the engine can tell whether there is mail. */
  static of(exec: Execution): ExecutionInbox {
    return exec.engine.hasMail === undefined ? new ExecutionInbox(exec) : new PollableInbox(exec);
  }

  async take(): Promise<InboxMessage | undefined> {
    return this.inLane("inbox.take", async () => (await this.read(false)) ?? this.returned?.shift());
  }

  async receive(): Promise<InboxMessage> {
    return this.inLane("inbox.receive", async () => {
      // Messages that were handed back come after those that are here already, and before later ones.
      const message = await this.read(!this.hasReturned);
      const next = message ?? this.returned?.shift();
      if (next !== undefined) return next;
      throw new TypeError("the record says that the inbox was empty where receive() waited for a message");
    });
  }

  async ack(message: InboxMessage): Promise<void> {
    this.deliveries?.delete(message.id);
  }

  async nack(message: InboxMessage, reason: string): Promise<void> {
    const deliveries = (this.deliveries ??= new Map<string, number>());
    const delivered = (deliveries.get(message.id) ?? 1) + 1;
    deliveries.set(message.id, delivered);
    if (delivered <= MAX_DELIVERIES) {
      (this.returned ??= []).push(message);
      return;
    }
    logOf(
      this.exec,
      "warn",
      `${this.exec.agentId} rejected a message three times; it is not delivered again`,
      {
        id: message.id,
        from: message.from,
        reason,
      },
    );
  }

  /**
   * Replies to a message. Only the first reply counts; one that failed does not. Throws an `InvalidValueError` if the value is no plain
   * JSON.
   */
  async reply(message: InboxMessage, value: JsonValue): Promise<void> {
    const { id } = message;
    checkMessage("inbox.reply", value);
    await this.inLane("inbox.reply", async () => {
      if (this.replied?.has(id) === true) return;
      await this.engine.reply(`reply:${id}`, id, value);
      (this.replied ??= new Set()).add(id);
    });
  }

  /** The same inbox with the input that a layer around the run has set. */
  withInput(input: string): Inbox {
    return {
      input,
      attachments: this.attachments,
      take: () => this.take(),
      receive: () => this.receive(),
      ack: (message) => this.ack(message),
      nack: (message, reason) => this.nack(message, reason),
      reply: (message, value) => this.reply(message, value),
    };
  }

  protected get hasReturned(): boolean {
    return this.returned !== undefined && this.returned.length > 0;
  }

  private read(wait: boolean): Promise<InboxMessage | null> {
    const key = this.nextRead;
    this.nextRead = `inbox#${++this.reads + 1}`;
    return this.engine.receive(key, { wait });
  }

  private inLane<T>(what: string, operation: () => MaybePromise<T>): MaybePromise<T> {
    return this.exec.lane.within(what, operation);
  }
}

class PollableInbox extends ExecutionInbox {
  hasMail(): boolean {
    return this.hasReturned || this.engine.hasMail?.(this.nextRead) === true;
  }

  override withInput(input: string): Inbox {
    return { ...super.withInput(input), hasMail: () => this.hasMail() };
  }
}
