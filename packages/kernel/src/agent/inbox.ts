import type { JsonValue } from "../core/json.ts";

export type InboxMessage = {
  readonly id: string;
  /** Who sent it: an agent's id, or `"user"`. */
  readonly from: string;
  readonly content: JsonValue;
  /** Epoch milliseconds. */
  readonly at: number;
};

/** What others say to a running agent. Reads are recorded, so a replay sees the same. */
export interface Inbox {
  /** What the run was started with. */
  readonly input: string;
  /**
   * Whether `take` has something, without recording that it was asked. While a replay catches up it says yes where a message
   * was read before. A loop reads mail only where there is this: `take` leaves a record even when there is nothing.
   */
  hasMail?(): boolean;
  /** The next message that is already here, or undefined. */
  take(): Promise<InboxMessage | undefined>;
  /** The next message, waiting for it durably. */
  receive(): Promise<InboxMessage>;
  /** Done with it; it will not come again. A message is acknowledged by itself when the run ends well. */
  ack(message: InboxMessage): Promise<void>;
  /** Not now: it comes again, three times at the most, and is then put aside as a dead letter. */
  nack(message: InboxMessage, reason: string): Promise<void>;
  /** Answers a message that came by `ask`. */
  reply(message: InboxMessage, value: JsonValue): Promise<void>;
}
