import type { InboxMessage } from "@ravi/kernel";
import type { AskMessage, Mail, MailMessage, ReplyMessage, SendAnswer, SendMessage } from "./messages.ts";
import { noRoomFor } from "./outcome-size.ts";
import { drop, type ExecState, type RootState, rememberDelivery } from "./state.ts";
import { endOf } from "./summary.ts";
import type { TreeSession } from "./tree.ts";

/** Sends a message to a child. If the child is over, the asker is told that no reply will come; if there is no room, that it is refused. */
export async function ask(tree: TreeSession, { child, message, awakeable }: AskMessage): Promise<null> {
  const exec = tree.exec(child);
  if (exec === undefined || exec.phase === "over") {
    tree.resolve(awakeable, { silent: true, ended: true });
    return null;
  }
  if (exec.askers[message.id] !== undefined) return null;
  const refused = noRoomFor("ask.message, with what is kept already", tree.state, message);
  if (refused !== undefined) {
    tree.resolve(awakeable, { refused });
    return null;
  }
  exec.askers[message.id] = awakeable;
  await post(tree, child, exec, message);
  return null;
}

/** A message from outside. One to an execution that has not been hired yet is kept for it. The same id counts once. */
export async function send(tree: TreeSession, { to, message }: SendMessage): Promise<SendAnswer> {
  const { state } = tree;
  if (state.delivered.includes(message.id)) return null;
  if (state.result !== undefined) return { ended: endOf(state.result["status"]) };
  const exec = tree.exec(to);
  if (exec !== undefined && (exec.phase === "over" || exec.hasEnded === true)) return { isMissed: true };
  const refused = noRoomFor("send.message, with what is kept already", state, message);
  if (refused !== undefined) return { refused };
  rememberDelivery(state, message.id);
  state.entries++;
  if (exec !== undefined) await post(tree, to, exec, message);
  else state.early = { ...state.early, [to]: [...(state.early?.[to] ?? []), message] };
  return null;
}

/** Gives a message to an execution that waits for one; else it is kept, and the execution is told that there is mail. */
async function post(
  tree: TreeSession,
  execId: string,
  exec: ExecState,
  message: InboxMessage,
): Promise<void> {
  const { reader, bell } = exec;
  if (reader === undefined) {
    exec.mail.push(message);
    exec.bell = undefined;
    tree.resolve(bell, null);
    return;
  }
  exec.reader = undefined;
  exec.given[reader.key] = { lane: exec.lane, value: message };
  tree.resolve(reader.awakeable, { value: message, standing: await tree.standing(execId) });
}

/** Returns the next message to an execution, or notes that it waits for one, and how it is told of the next if there is none. */
export async function mail(tree: TreeSession, message: MailMessage): Promise<Mail> {
  const { execId, lane, key, wait, awakeable, bell } = message;
  const { exec, standing } = await tree.senderOf(execId, lane);
  if (exec === undefined) return { ...standing, message: null, gone: true };
  const given = exec.given[key]?.value as InboxMessage | undefined;
  const next = given ?? exec.mail.shift();
  const hasMore = exec.mail.length > 0;
  exec.bell = hasMore ? undefined : bell;
  const answer = { ...standing, hasMore };
  if (next !== undefined) {
    exec.given[key] ??= { lane, value: next };
    return { ...answer, message: next };
  }
  if (!wait) return { ...answer, message: null };
  exec.reader = { key, awakeable };
  return answer;
}

/** Passes a reply to the execution that asked. One to a message from outside goes nowhere: its sender chose its id and does not wait. */
export async function reply(tree: TreeSession, { execId, messageId, value }: ReplyMessage): Promise<null> {
  const askers = tree.exec(execId)?.askers;
  if (askers === undefined || !Object.hasOwn(askers, messageId)) return null;
  const asker = askers[messageId];
  drop(askers, messageId);
  tree.resolve(asker, { reply: value });
  return null;
}

/** What was sent to an execution before it was hired. */
export function takeEarlyMail(state: RootState, execId: string): InboxMessage[] {
  const { [execId]: early = [], ...rest } = state.early ?? {};
  state.early = Object.keys(rest).length === 0 ? undefined : rest;
  return [...early];
}

/** The agent has ended: nobody will read its mail, and whoever sends it again is told so. */
export function dropMail(state: RootState, exec: ExecState): void {
  const isRun = exec.parent === null;
  const early = isRun ? Object.values(state.early ?? {}).flat() : [];
  const unread = new Set([...exec.mail, ...early].map(({ id }) => id));
  exec.mail = [];
  exec.bell = undefined;
  if (isRun) state.early = undefined;
  if (unread.size > 0) state.delivered = state.delivered.filter((id) => !unread.has(id));
}
