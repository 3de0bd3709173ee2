import { errorToJSON, type JsonValue } from "@ravi/kernel";
import { answerable, type Decision, type Decisions, fullDecisions, type InDoubt } from "@ravi/kernel/loop";
import type {
  DeliverAnswer,
  DeliverMessage,
  DoubtMessage,
  Resumed,
  ResumeMessage,
  SuspendedMessage,
  Wanted,
  WantMessage,
} from "./messages.ts";
import { noRoomFor } from "./outcome-size.ts";
import { drop, rememberDelivery, type RootState } from "./state.ts";
import { endOf, waitsOf } from "./summary.ts";
import type { TreeSession } from "./tree.ts";

/** Returns a value that was delivered early, or notes that the execution waits for it. */
export async function want(tree: TreeSession, message: WantMessage): Promise<Wanted> {
  const { execId, lane, key, name, awakeable, isApproval, question, at } = message;
  const { exec, standing } = await tree.senderOf(execId, lane);
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
  const { n = ++tree.state.entries, since = at } = exec.wants[key] ?? {};
  exec.wants[key] = { name, awakeable, n, since, isApproval, question };
  return standing;
}

/** Gives the value to the execution that has waited longest for that name, or keeps it until one does. */
export async function deliver(tree: TreeSession, message: DeliverMessage): Promise<DeliverAnswer> {
  const { id, name, value, mustExist, mustWait } = message;
  const { state } = tree;
  if (state.delivered.includes(id)) return null;
  if ((mustExist === true || mustWait === true) && state.result !== undefined)
    return { ended: endOf(state.result["status"]) };
  if (mustWait === true && longestWaiting(state, name) === undefined)
    return { waitsFor: answerable(waitsOf(state)) };
  const refused = noRoomFor("deliver value, with what is kept already", state, value);
  if (refused !== undefined) return { refused };
  rememberDelivery(state, id);
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

/** Executions that were told to stop are left out: the value is for the next one. */
function longestWaiting({ execs }: RootState, name: string) {
  const waiting = Object.entries(execs).flatMap(([execId, exec]) =>
    exec.stopped !== undefined
      ? []
      : Object.entries(exec.wants).map(([key, wanted]) => ({ execId, exec, key, ...wanted })),
  );
  return waiting.filter((one) => one.name === name).toSorted((a, b) => a.n - b.n)[0];
}

/** The caller chooses the names, so one may be that of a property which every object has. */
function earlyOf({ signals }: RootState, name: string): readonly JsonValue[] {
  return Object.hasOwn(signals, name) ? (signals[name] ?? []) : [];
}

/** An object literal with a computed key accepts every name as a field, even `__proto__`. */
function keepEarly(state: RootState, name: string, values: JsonValue[]): void {
  if (values.length === 0) drop(state.signals, name);
  else state.signals = { ...state.signals, [name]: values };
}

/** Notes that somebody has to decide on a call that may have been made. */
export async function doubt(
  tree: TreeSession,
  message: DoubtMessage,
): Promise<{ decision: Decision | null }> {
  const { execId, key, awakeable, error, question } = message;
  const exec = tree.exec(execId);
  const decision = tree.state.decisions[`${execId}:${key}`];
  if (exec === undefined || decision !== undefined) return { decision: decision ?? null };
  exec.doubts[key] = awakeable;
  if (question !== undefined) exec.questions = { ...exec.questions, [key]: question };
  exec.suspended = error;
  exec.suspendedAt = message.at;
  return { decision: null };
}

/** Notes why an execution cannot go on. */
export async function suspended(tree: TreeSession, { execId, error }: SuspendedMessage): Promise<null> {
  const exec = tree.exec(execId);
  if (exec !== undefined && exec.phase !== "over") exec.suspended = error;
  return null;
}

/**
 * Hands out decisions, and clears all other suspensions so that they are tried again. If a decision is not valid, nothing is
 * changed.
 */
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
    // A decision that names no living execution would stay here for ever and might apply to a later call that nobody has seen.
    if (living.some((execId) => full.startsWith(`${execId}:`))) decisions[full] = decision;
  }
  for (const [execId, exec] of Object.entries(execs)) {
    for (const [key, awakeable] of Object.entries(exec.doubts)) {
      const decision = decisions[`${execId}:${key}`];
      if (decision === undefined) continue;
      drop(exec.doubts, key);
      if (exec.questions !== undefined) drop(exec.questions, key);
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

/** Removes the decisions on calls of an execution that is over. */
export function forgetDecisions({ decisions }: RootState, execId: string): void {
  for (const full of Object.keys(decisions)) if (full.startsWith(`${execId}:`)) drop(decisions, full);
}
