import { type ExecId, type JournalRecord, NeedsDecisionError } from "@ravi/kernel";
import type { Decisions, InDoubt } from "@ravi/kernel/loop";
import { textAt } from "./body.ts";
import { endedHiresIn, isBelowEnded } from "./ended-hires.ts";
import { isHire, type Recording } from "./recording.ts";

/**
 * An error that names every call that has to be decided on before the run may go on; undefined if there is none. It names all at once:
 * otherwise a call that was decided on would be made again, and then be unwound because of the next one that was not.
 */
export function needsDecision([first, ...others]: readonly Doubt[]): NeedsDecisionError | undefined {
  if (first === undefined) return undefined;
  const { execId, key, tool } = first;
  return new NeedsDecisionError({
    execId,
    key,
    what: `the call to ${tool}`,
    others: others.map(({ full }) => full),
  });
}

export interface Doubt extends InDoubt {
  readonly execId: ExecId;
  readonly full: string;
  readonly tool: string;
}

/** Calls that were begun, never ended, and may not be made again without a decision. */
export function doubtsOf(records: readonly JournalRecord[]): readonly Doubt[] {
  const open = new Map<string, Doubt>();
  for (const { exec, key, phase, body } of records) {
    if (phase !== "begin" || body["ask"] !== true) continue;
    const full = `${exec}:${key}`;
    open.set(full, { execId: exec, key, full, tool: textAt(body, "tool") });
  }
  // Most runs have none, and a run may have a hundred thousand entries.
  if (open.size === 0) return [];
  for (const { exec, key, phase } of records) if (phase === "end") open.delete(`${exec}:${key}`);
  const endedHires = endedHiresIn(records);
  return [...open.values()].filter(({ execId }) => !isBelowEnded(execId, endedHires));
}

/**
 * The keys of calls that were begun, never ended, and were not asked for again by the end of the run. What they may have cost is charged.
 */
export function* leftInDoubt({ execs, records }: Recording): Generator<string> {
  const endedHires = endedHiresIn(records);
  for (const [exec, { isCaughtUp, steps }] of execs) {
    if (isCaughtUp || isBelowEnded(exec, endedHires)) continue;
    for (const step of steps.values())
      if (!step.read && step.begin !== undefined && step.end === undefined && !isHire(step))
        yield `${exec}:${step.key}`;
  }
}

/**
 * The decisions that still apply: those on calls that were not made since. A call that was made again, and is in doubt again, has to be
 * decided on anew.
 */
export function stillValid(
  decisions: Decisions,
  before: readonly JournalRecord[],
  after: readonly JournalRecord[],
): Decisions {
  const [then, now] = [attemptsIn(before), attemptsIn(after)];
  return Object.fromEntries(Object.entries(decisions).filter(([full]) => then.get(full) === now.get(full)));
}

function attemptsIn(records: readonly JournalRecord[]): ReadonlyMap<string, number> {
  const attempts = new Map<string, number>();
  for (const { exec, key, phase, attempt } of records)
    if (phase === "begin") attempts.set(`${exec}:${key}`, attempt);
  return attempts;
}
