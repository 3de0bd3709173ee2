import type { Inbox, InboxMessage } from "../agent/inbox.ts";
import { type Clock, type IdSource, systemClock, systemIds } from "../core/clock.ts";
import type { JsonValue } from "../core/json.ts";
import { checkMessage } from "../core/plain-json.ts";
import type { Attachment } from "../model/messages.ts";
import type { CancellationToken } from "../run/cancellation.ts";
import { ownAttachments } from "./attachments.ts";

export interface BareInboxOptions {
  readonly attachments?: Inbox["attachments"];
  readonly clock?: Clock | undefined;
  readonly ids?: IdSource | undefined;
  /** Rejects a waiting `receive` when cancelled. */
  readonly cancellation?: CancellationToken | undefined;
}

/** An inbox in memory, for an agent that runs alone. Others talk to the agent with `send`. */
export interface BareInbox extends Inbox {
  hasMail(): boolean;
  send(from: string, content: JsonValue, attachments?: readonly Attachment[]): InboxMessage;
  /** Resolves with the reply to a message of `send`. */
  replyTo(message: InboxMessage): Promise<JsonValue>;
}

const MAX_DELIVERIES = 3;

/** Makes an inbox in memory. */
export function bareInbox(input: string, options: BareInboxOptions = {}): BareInbox {
  const { clock = systemClock, ids = systemIds, cancellation } = options;
  const attachments = ownAttachments("attachments", options.attachments);
  const waiting: InboxMessage[] = [];
  const receivers: ((message: InboxMessage) => void)[] = [];
  const replies = new Map<string, PromiseWithResolvers<JsonValue>>();
  const deliveries = new Map<string, number>();

  const deliver = (message: InboxMessage): void => {
    const receiver = receivers.shift();
    if (receiver === undefined) waiting.push(message);
    else receiver(message);
  };
  const replyOf = (id: string): PromiseWithResolvers<JsonValue> => {
    let reply = replies.get(id);
    if (reply === undefined) replies.set(id, (reply = Promise.withResolvers()));
    return reply;
  };

  return {
    input,
    attachments,
    send(from, content, given) {
      const own = ownAttachments("send.attachments", given);
      const message: InboxMessage = Object.freeze({
        id: ids.uuid(),
        from,
        content,
        ...(own !== undefined && { attachments: own }),
        at: clock.now(),
      });
      deliver(message);
      return message;
    },
    replyTo: (message) => replyOf(message.id).promise,
    hasMail: () => waiting.length > 0,
    take: async () => waiting.shift(),
    receive: () =>
      new Promise((resolve, reject) => {
        const message = waiting.shift();
        if (message !== undefined) return resolve(message);
        const receiver = (arrived: InboxMessage): void => {
          unlisten?.();
          resolve(arrived);
        };
        receivers.push(receiver);
        const unlisten = cancellation?.onCancel((error) => {
          receivers.splice(receivers.indexOf(receiver), 1);
          reject(error);
        });
      }),
    async ack(message) {
      deliveries.delete(message.id);
    },
    async nack(message) {
      const delivered = (deliveries.get(message.id) ?? 1) + 1;
      deliveries.set(message.id, delivered);
      if (delivered <= MAX_DELIVERIES) deliver(message);
    },
    async reply(message, value) {
      replyOf(message.id).resolve(checkMessage("inbox.reply", value));
    },
  };
}
