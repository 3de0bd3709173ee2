import { type JournalRecord, NeedsDecisionError } from "@ravi/kernel";
import type { Decisions, InDoubt } from "@ravi/kernel/loop";
import { textAt } from "./body.ts";
import type { Recording } from "./recording.ts";

/** What nobody has decided on. */
export function undecided(records: readonly JournalRecord[], decisions: Decisions): readonly Doubt[] {
  return doubtsOf(records).filter(({ full }) => decisions[full] === undefined);
}

/**
 * What has to be decided on before the run may go on; undefined where that is nothing. All of it at once: whoever is decided on would be
 * made again, and then be unwound with all the others by the next that is not.
 */
export function needsDecision([first, ...others]: readonly Doubt[]): NeedsDecisionError | undefined {
  if (first === undefined) return undefined;
  const { execId, key, tool } = first;
  return new NeedsDecisionError({
    execId,
    key,
    what: `the call of ${tool}`,
    others: others.map(({ full }) => full),
  });
}

interface Doubt extends InDoubt {
  readonly full: string;
  readonly tool: string;
}

/** Calls that were begun, never ended, and may not be made again without being asked about. */
export function doubtsOf(records: readonly JournalRecord[]): readonly Doubt[] {
  const ended = new Set<string>();
  for (const { exec, key, phase } of records) if (phase === "end") ended.add(`${exec}:${key}`);
  const over = overIn(records);
  const open = new Map<string, Doubt>();
  for (const { exec, key, phase, body } of records) {
    const full = `${exec}:${key}`;
    if (phase !== "begin" || body["ask"] !== true || ended.has(full) || isBelow(exec, over)) continue;
    open.set(full, { execId: exec, key, full, tool: textAt(body, "tool") });
  }
  return [...open.values()];
}

/** Calls that were begun, never ended, and were not asked for again by the end of the run: what they have cost is charged. */
export function* leftInDoubt({ execs, records }: Recording): Generator<string> {
  const over = overIn(records);
  for (const [exec, { isCaughtUp, steps }] of execs) {
    if (isCaughtUp || isBelow(exec, over)) continue;
    for (const { key, begin, end, read } of steps.values())
      if (!read && begin !== undefined && end === undefined && !key.startsWith("hire:"))
        yield `${exec}:${key}`;
  }
}

/** What has ended, as the id of an execution, where it was a hire. */
function overIn(records: readonly JournalRecord[]): ReadonlySet<string> {
  const over = new Set<string>();
  for (const { exec, key, phase } of records) if (phase === "end") over.add(`${exec}/${key}`);
  return over;
}

/** Whoever was hired by somebody whose hire is over will not be asked again. */
function isBelow(exec: string, over: ReadonlySet<string>): boolean {
  for (let end = exec.length; end > 0; end = exec.lastIndexOf("/", end - 1))
    if (over.has(exec.slice(0, end))) return true;
  return false;
}

/** Those on calls that nobody has made since: one that was made again, and is in doubt again, is for somebody to decide on anew. */
export function stillMeant(
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
