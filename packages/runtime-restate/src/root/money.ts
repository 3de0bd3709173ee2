import type { BudgetWarning } from "@ravi/kernel";
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

/** May this call be made now? Fence, stop, pause, doubt, money and the mark of its beginning, all in one answer. */
export async function admit(tree: TreeSession, message: AdmitMessage): Promise<Admission> {
  const { execId, lane, key, nonce } = message;
  const { state, books } = tree;
  const full = `${execId}:${key}`;
  const warnings = await tree.settle(execId, message.settle);
  const { exec, standing } = await tree.speaker(execId, lane);
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
      return { ...answer, verdict: "doubt", attempt: known.attempt };
    }
    // It was begun, and nobody knows how it ended: it is reported, and what was set aside for it counts as spent.
    for (const [id, { of }] of Object.entries(state.open))
      if (id === known.reserved || of === full) await books.forfeit(id, { isMadeAgain: true });
    books.doubt(full);
  }
  drop(state.decisions, full);
  let reserved: string | undefined;
  let refused: Admission["refused"];
  if (message.reserve !== undefined && books.isMetered) {
    const id = `${full}:${nonce}`;
    const { reserve: spend, usage } = message;
    const open = { exec: execId, spend, usage, wrapUp: false, of: full };
    refused = await books.reserve(id, open, undefined);
    if (refused === undefined) reserved = id;
  }
  const attempt = (known?.attempt ?? 0) + 1;
  exec.marks[key] = { attempt, nonce, lane, reserved };
  state.entries++;
  const remaining = books.remaining(execId);
  return { ...answer, remaining, verdict: "go", attempt, reserved, refused };
}

/** For another attempt at the same call, by a layer that repeats it, or one made inside of it. */
export async function reserve(tree: TreeSession, message: ReserveMessage): Promise<Reserved> {
  const { execId, id, key, spend, wrapUp, what } = message;
  const { books } = tree;
  const warnings = await tree.settle(execId, message.settle);
  const of = key === undefined ? undefined : `${execId}:${key}`;
  const refused = await books.reserve(id, { exec: execId, spend, wrapUp, of }, what);
  return { warnings, refused };
}

/** Says to everybody who was given money whether a threshold is near. The last thing that is asked of the books. */
export async function withNearness(tree: TreeSession, answers: readonly unknown[]): Promise<unknown[]> {
  const isNear = tree.books.hasGiven && (await tree.books.isNear());
  return answers.map((answer) =>
    isNear && typeof answer === "object" && answer !== null && "warnings" in answer
      ? { ...answer, isNear }
      : answer,
  );
}

/** Asked for by a call that is near a threshold; said one-way by an execution that begins to wait, and then kept for later. */
export async function settle(
  tree: TreeSession,
  { execId, settle: settles, isOneWay }: SettleMessage,
): Promise<{ warnings: readonly BudgetWarning[] }> {
  const warnings = await tree.books.settle(settles);
  if (isOneWay === true) tree.keepUntold(execId, warnings);
  return { warnings };
}

/** The closure found its attempt dead before it paid anything: as if it had not asked. */
export async function withdraw(tree: TreeSession, { execId, key, nonce }: WithdrawMessage): Promise<null> {
  const exec = tree.exec(execId);
  const mark = exec?.marks[key];
  if (exec === undefined || mark?.nonce !== nonce) return null;
  if (mark.reserved !== undefined) await tree.books.settle([{ id: mark.reserved }]);
  if (mark.attempt > 1)
    exec.marks[key] = { ...mark, attempt: mark.attempt - 1, nonce: "", reserved: undefined };
  else drop(exec.marks, key);
  return null;
}

/** Said twice it counts once. */
export async function raise(tree: TreeSession, { execId, key, more }: RaiseMessage): Promise<null> {
  await tree.books.raise(execId, `${execId}:${key}`, more);
  return null;
}

/** Marks of lanes before this one belong to calls whose outcome is on record. */
export function forgetMarks(tree: TreeSession, execId: string, lane: number): void {
  const exec = tree.exec(execId);
  if (exec === undefined) return;
  const isOld = ([, mark]: readonly [string, Mark]): boolean => mark.lane < lane;
  for (const [key] of Object.entries(exec.marks).filter(isOld)) drop(exec.marks, key);
}
