import type { JsonValue } from "../core/json.ts";
import type { Attachment } from "../model/messages.ts";

export type InboxMessage = {
  readonly id: string;
  /** Who sent it: an agent's id, or `"user"`. */
  readonly from: string;
  readonly content: JsonValue;
  /** Pictures and files that came with it. */
  readonly attachments?: readonly Attachment[] | undefined;
  /** Epoch milliseconds. */
  readonly at: number;
};

/** Messages to a running agent. What it reads is recorded, so a resumed run reads the same. */
export interface Inbox {
  /** The input that the agent was started with. */
  readonly input: string;
  /** Pictures and files that came with the input. */
  readonly attachments?: readonly Attachment[] | undefined;
  /**
   * Whether `take` would return a message. Unlike `take`, which is recorded even if there is nothing, asking is not recorded. In
   * a replay it returns true where a message was read before. A loop reads its mail between turns only if this method exists.
   */
  hasMail?(): boolean;
  /** The next message, or undefined if there is none now. */
  take(): Promise<InboxMessage | undefined>;
  /** The next message. Waits for it, also across restarts of the process. */
  receive(): Promise<InboxMessage>;
  /** The message is done. Optional: messages are acknowledged when the run ends well. */
  ack(message: InboxMessage): Promise<void>;
  /** Puts the message back, to be read again later. After three deliveries it is dropped, with a warning in the log. */
  nack(message: InboxMessage, reason: string): Promise<void>;
  /** Answers a message that was sent with `ask`. Only the first reply counts. */
  reply(message: InboxMessage, value: JsonValue): Promise<void>;
}
