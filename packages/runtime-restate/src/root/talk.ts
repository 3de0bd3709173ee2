import { errorToJSON, type JsonValue } from "@ravi/kernel";
import { type Decision, type Decisions, fullDecisions, type InDoubt } from "@ravi/kernel/loop";
import type {
  AskMessage,
  DeliverMessage,
  DoubtMessage,
  Mail,
  MailMessage,
  ReplyMessage,
  Resumed,
  ResumeMessage,
  SuspendedMessage,
  Wanted,
  WantMessage,
} from "./messages.ts";
import { drop, type RootState } from "./state.ts";
import type { TreeSession } from "./tree.ts";

const REMEMBERED = 200;

/** What was delivered early is handed out at once; otherwise the asker is told when it comes. */
export async function want(tree: TreeSession, message: WantMessage): Promise<Wanted> {
  const { execId, lane, key, name, awakeable } = message;
  const { exec, standing } = await tree.speaker(execId, lane);
  if (exec === undefined) return standing;
  const given = exec.given[key];
  if (given !== undefined) return { ...standing, got: { value: given.value } };
  const [early, ...rest] = earlyOf(tree.state, name);
  if (early !== undefined) {
    keepEarly(tree.state, name, rest);
    exec.given[key] = { lane, value: early };
    drop(exec.wants, key);
    return { ...standing, got: { value: early } };
  }
  exec.wants[key] = { name, awakeable, n: exec.wants[key]?.n ?? ++tree.state.entries };
  return standing;
}

/** To whoever has waited for that name the longest, or kept until somebody does. */
export async function deliver(tree: TreeSession, { id, name, value }: DeliverMessage): Promise<null> {
  const { state } = tree;
  if (state.delivered.includes(id)) return null;
  state.delivered = [...state.delivered.slice(-REMEMBERED), id];
  state.entries++;
  const first = longestWaiting(state, name);
  if (first === undefined) {
    keepEarly(state, name, [...earlyOf(state, name), value]);
    return null;
  }
  const { execId, exec, key, awakeable } = first;
  drop(exec.wants, key);
  exec.given[key] = { lane: exec.lane, value };
  tree.resolve(awakeable, { value, standing: await tree.standing(execId) });
  return null;
}

/** Whoever was told to stop does not wait any more: what comes is for the next. */
function longestWaiting({ execs }: RootState, name: string) {
  const waiting = Object.entries(execs).flatMap(([execId, exec]) =>
    exec.stopped !== undefined
      ? []
      : Object.entries(exec.wants).map(([key, wanted]) => ({ execId, exec, key, ...wanted })),
  );
  return waiting.filter((one) => one.name === name).toSorted((a, b) => (a.n ?? 0) - (b.n ?? 0))[0];
}

/** A caller chooses the names: one may be that of something every object has. */
function earlyOf({ signals }: RootState, name: string): readonly JsonValue[] {
  return Object.hasOwn(signals, name) ? (signals[name] ?? []) : [];
}

/** Written as a literal, which takes every name for a field, `__proto__` too. */
function keepEarly(state: RootState, name: string, values: JsonValue[]): void {
  if (values.length === 0) drop(state.signals, name);
  else state.signals = { ...state.signals, [name]: values };
}

/** A message to a child. Whoever is over says nothing any more. */
export async function ask(tree: TreeSession, { child, message, awakeable }: AskMessage): Promise<null> {
  const exec = tree.exec(child);
  if (exec === undefined || exec.phase === "over") {
    tree.resolve(awakeable, { silent: true, ended: true });
    return null;
  }
  if (exec.askers[message.id] !== undefined) return null;
  exec.askers[message.id] = awakeable;
  const { reader } = exec;
  if (reader === undefined) {
    exec.mail.push(message);
    return null;
  }
  exec.reader = undefined;
  exec.given[reader.key] = { lane: exec.lane, value: message };
  tree.resolve(reader.awakeable, { value: message, standing: await tree.standing(child) });
  return null;
}

export async function mail(tree: TreeSession, message: MailMessage): Promise<Mail> {
  const { execId, lane, key, wait, awakeable } = message;
  const { exec, standing } = await tree.speaker(execId, lane);
  if (exec === undefined) return { ...standing, message: null };
  const given = exec.given[key];
  if (given !== undefined) return { ...standing, message: given.value as NonNullable<Mail["message"]> };
  const next = exec.mail.shift();
  if (next !== undefined) {
    exec.given[key] = { lane, value: next };
    return { ...standing, message: next };
  }
  if (!wait) return { ...standing, message: null };
  exec.reader = { key, awakeable };
  return standing;
}

export async function reply(tree: TreeSession, { execId, messageId, value }: ReplyMessage): Promise<null> {
  const exec = tree.exec(execId);
  const asker = exec?.askers[messageId];
  if (exec === undefined || asker === undefined) return null;
  drop(exec.askers, messageId);
  tree.resolve(asker, { reply: value });
  return null;
}

/** Somebody has to decide on a call that may or may not have been made. */
export async function doubt(
  tree: TreeSession,
  message: DoubtMessage,
): Promise<{ decision: Decision | null }> {
  const { execId, key, awakeable, error } = message;
  const exec = tree.exec(execId);
  const decision = tree.state.decisions[`${execId}:${key}`];
  if (exec === undefined || decision !== undefined) return { decision: decision ?? null };
  exec.doubts[key] = awakeable;
  exec.suspended = error;
  return { decision: null };
}

export async function suspended(tree: TreeSession, { execId, error }: SuspendedMessage): Promise<null> {
  const exec = tree.exec(execId);
  if (exec !== undefined && exec.phase !== "over") exec.suspended = error;
  return null;
}

/** Hands out decisions; whatever else kept an execution from going on is tried anew. One that cannot be understood changes nothing. */
export async function resume(tree: TreeSession, message: ResumeMessage): Promise<Resumed> {
  const { execs, decisions } = tree.state;
  let decided: Decisions;
  try {
    decided = fullDecisions(doubtsOf(tree.state), message.decisions);
  } catch (error) {
    return { refused: errorToJSON(error) };
  }
  const living = Object.keys(execs).filter((execId) => execs[execId]?.phase !== "over");
  for (const [full, decision] of Object.entries(decided)) {
    // What names no execution would lie here for ever, and fall on a later call that nobody has seen.
    if (living.some((execId) => full.startsWith(`${execId}:`))) decisions[full] = decision;
  }
  for (const [execId, exec] of Object.entries(execs)) {
    for (const [key, awakeable] of Object.entries(exec.doubts)) {
      const decision = decisions[`${execId}:${key}`];
      if (decision === undefined) continue;
      drop(exec.doubts, key);
      tree.resolve(awakeable, { decision } satisfies JsonValue);
    }
    if (Object.keys(exec.doubts).length === 0) exec.suspended = undefined;
  }
  tree.state.version++;
  return {};
}

function doubtsOf({ execs }: RootState): InDoubt[] {
  return Object.entries(execs).flatMap(([execId, { doubts }]) =>
    Object.keys(doubts).map((key) => ({ execId, key })),
  );
}

/** Nobody will ask for what was decided on its calls any more. */
export function forgetDecisions({ decisions }: RootState, execId: string): void {
  for (const full of Object.keys(decisions)) if (full.startsWith(`${execId}:`)) drop(decisions, full);
}
