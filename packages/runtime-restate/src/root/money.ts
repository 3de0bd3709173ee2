import { type BudgetWarning, CancellationError, errorToJSON } from "@ravi/kernel";
import type {
  Admission,
  AdmitMessage,
  RaiseMessage,
  Reserved,
  ReserveMessage,
  SettleMessage,
  WithdrawMessage,
} from "./messages.ts";
import { drop, type Mark } from "./state.ts";
import type { TreeSession } from "./tree.ts";

/**
 * Decides whether a call may be made now. One answer covers fence, stop, pause, doubt, reservation and the mark that it was begun.
 */
export async function admit(tree: TreeSession, message: AdmitMessage): Promise<Admission> {
  const { execId, lane, key, nonce } = message;
  const { state, ledgers } = tree;
  const full = `${execId}:${key}`;
  const warnings = await tree.settle(execId, message.settle);
  const { exec, standing } = await tree.senderOf(execId, lane);
  const answer = { ...standing, attempt: 0, warnings } as const;
  if (exec === undefined) return { ...answer, verdict: "stale" };
  const known = exec.marks[key];
  if (known?.nonce === nonce) {
    return { ...answer, verdict: "go", attempt: known.attempt, reserved: known.reserved };
  }
  if (standing.stopped !== undefined) return { ...answer, verdict: "stopped" };
  if (standing.paused) return { ...answer, verdict: "parked" };
  if (known !== undefined) {
    if (message.onDoubt === "ask" && state.decisions[full] !== "retry") {
      // Of this lane now, so that it is not forgotten with those of earlier ones.
      exec.marks[key] = { ...known, lane };
      return { ...answer, verdict: "doubt", attempt: known.attempt };
    }
    // The call was begun and its outcome is not known: it is reported as in doubt, and its reservation counts as spent.
    for (const [id, { of }] of Object.entries(state.open))
      if (of === full) await ledgers.forfeit(id, { isMadeAgain: true });
    ledgers.doubt(full);
  }
  drop(state.decisions, full);
  let reserved: string | undefined;
  let refused: Admission["refused"];
  if (message.reserve !== undefined && ledgers.isMetered) {
    const id = `${full}:${nonce}`;
    const { reserve: spend, usage } = message;
    const open = { exec: execId, spend, usage, of: full };
    refused = await ledgers.reserve(id, open, {});
    if (refused === undefined) reserved = id;
  }
  const attempt = (known?.attempt ?? 0) + 1;
  exec.marks[key] = { attempt, nonce, lane, reserved, at: message.at, name: message.name };
  state.entries++;
  const remaining = ledgers.remaining(execId);
  return { ...answer, remaining, verdict: "go", attempt, reserved, refused };
}

/**
 * A further reservation: for another try by a layer that repeats the call, or for a call inside it. Like an admission it is refused if
 * the call was made again by a newer attempt, or its execution has gone on without it.
 */
export async function reserve(tree: TreeSession, message: ReserveMessage): Promise<Reserved> {
  const { execId, lane, id, key, nonce, spend, wrapUp, what } = message;
  const { ledgers } = tree;
  const warnings = await tree.settle(execId, message.settle);
  const { exec } = await tree.senderOf(execId, lane);
  if (exec?.marks[key]?.nonce !== nonce) {
    const stale = new CancellationError({ reason: `${execId} is over, or continues in a newer attempt` });
    return { warnings, refused: errorToJSON(stale) };
  }
  const of = `${execId}:${key}`;
  const refused = await ledgers.reserve(id, { exec: execId, spend, of }, { wrapUp, what });
  return { warnings, refused };
}

/** Tells every execution that got money whether a threshold is near. Must be the last question to the ledgers. */
export async function withNearLimit(tree: TreeSession, answers: readonly unknown[]): Promise<unknown[]> {
  const isNear = tree.ledgers.hasReserved && (await tree.ledgers.isNear());
  return answers.map((answer) =>
    isNear && typeof answer === "object" && answer !== null && "warnings" in answer
      ? { ...answer, isNear }
      : answer,
  );
}

/**
 * Settles reservations. A call that is near a threshold waits for the answer. An execution that begins to wait sends it one-way;
 * the warnings are then kept for its next message.
 */
export async function settle(
  tree: TreeSession,
  { execId, settle: settles, isOneWay }: SettleMessage,
): Promise<{ warnings: readonly BudgetWarning[] }> {
  const warnings = await tree.ledgers.settle(settles);
  if (isOneWay === true) tree.keepWarnings(execId, warnings);
  return { warnings };
}

/** The closure found that its attempt is over before it paid anything: its admission is undone. */
export async function withdraw(tree: TreeSession, { execId, key, nonce }: WithdrawMessage): Promise<null> {
  const exec = tree.exec(execId);
  const mark = exec?.marks[key];
  if (exec === undefined || mark?.nonce !== nonce) return null;
  if (mark.reserved !== undefined) await tree.ledgers.settle([{ id: mark.reserved }]);
  if (mark.attempt > 1)
    exec.marks[key] = { ...mark, attempt: mark.attempt - 1, nonce: "", reserved: undefined };
  else drop(exec.marks, key);
  return null;
}

/** Raises limits. The same key counts once. */
export async function raise(tree: TreeSession, { execId, key, more }: RaiseMessage): Promise<null> {
  await tree.ledgers.raise(execId, `${execId}:${key}`, more);
  return null;
}

/** Removes marks of earlier lanes: the outcomes of those calls are recorded. */
export function forgetMarks(tree: TreeSession, execId: string, lane: number): void {
  const exec = tree.exec(execId);
  if (exec === undefined) return;
  const isOld = ([, mark]: readonly [string, Mark]): boolean => mark.lane < lane;
  for (const [key] of Object.entries(exec.marks).filter(isOld)) drop(exec.marks, key);
}
