import {
  type Attachment,
  checkFields,
  ExecId,
  type IdSource,
  type InboxMessage,
  type JsonValue,
  type RunId,
} from "@ravi/kernel";
import { checkMessage, checkSendText, ownAttachments, refuseStranger } from "@ravi/kernel/loop";
import type { SendMessage } from "../root/messages.ts";
import { checkSize } from "../sizes.ts";

/** Options of `send`. All are optional. */
export interface RestateSendOptions {
  /** The id of the execution that gets the message. Default: the root's. */
  readonly to?: string | undefined;
  /** The sender's name. Default: `"user"`. */
  readonly from?: string | undefined;
  /** The same id counts once. Default: a new one. */
  readonly id?: string | undefined;
  /** Pictures and files that come with the message. Default: none. */
  readonly attachments?: readonly Attachment[] | undefined;
}

const OPTIONS = ["to", "from", "id", "attachments"] as const satisfies readonly (keyof RestateSendOptions)[];

/** The message to the tree's object. Throws an `InvalidValueError` if an argument of `send` is wrong. */
export function checkSent(
  runId: RunId,
  content: JsonValue,
  options: RestateSendOptions,
  { ids, now }: { readonly ids: IdSource; readonly now: number },
): Omit<SendMessage, "at"> {
  checkFields("send options", options, OPTIONS);
  const { to = ExecId(runId), from = "user", id = ids.uuid() } = options;
  refuseStranger(runId, to);
  checkSendText("from", from);
  checkSendText("id", id);
  checkMessage("send.message", content);
  const attachments = ownAttachments("send options.attachments", options.attachments);
  const message: InboxMessage = {
    id,
    from,
    content,
    ...(attachments !== undefined && { attachments }),
    at: now,
  };
  checkSize("send.message, with its attachments", message);
  return { to, message };
}
