import { InvalidValueError, type JournalRecord, NeedsDecisionError } from "@ravi/kernel";
import { textAt } from "./body.ts";

/** What somebody decided on an effect that was in doubt. */
export type Decision = "retry" | "skip" | "fail";
export type Decisions = Readonly<Record<string, Decision>>;

const KNOWN: readonly string[] = ["retry", "skip", "fail"] satisfies readonly Decision[];

/**
 * Decisions under full keys (`execId:key`). The key alone will do where exactly one execution is in doubt under it: the same
 * key in another execution is another call, and what was decided on one must not fall on both.
 */
export function fullDecisions(records: readonly JournalRecord[], decisions: Decisions): Decisions {
  const asked = doubtsOf(records);
  const full: Record<string, Decision> = {};
  for (const [given, decision] of Object.entries(decisions)) {
    if (!KNOWN.includes(decision)) {
      throw new InvalidValueError({
        field: `decisions[${JSON.stringify(given)}]`,
        value: decision,
        expected: "retry, skip or fail",
      });
    }
    const meant = asked.filter(({ key, full: whole }) => whole === given || key === given);
    const exact = meant.find(({ full: whole }) => whole === given);
    if (exact === undefined && meant.length > 1) {
      throw new InvalidValueError({
        field: "decisions",
        value: given,
        expected: `one of ${meant.map(({ full: whole }) => whole).join(", ")}: several calls are in doubt under that key`,
      });
    }
    full[exact?.full ?? meant[0]?.full ?? given] = decision;
  }
  return full;
}

/**
 * What has to be decided on before the run may go on; undefined where that is nothing. All of it at once: whoever is decided on would be
 * made again, and then be unwound with all the others by the next that is not.
 */
export function undecided(
  records: readonly JournalRecord[],
  decisions: Decisions,
): NeedsDecisionError | undefined {
  const [first, ...others] = doubtsOf(records).filter(({ full }) => decisions[full] === undefined);
  if (first === undefined) return undefined;
  const { exec: execId, key, tool } = first;
  return new NeedsDecisionError({
    execId,
    key,
    what: `the call of ${tool}`,
    others: others.map(({ full }) => full),
  });
}

interface Doubt {
  readonly exec: string;
  readonly key: string;
  readonly full: string;
  readonly tool: string;
}

/** Calls that were begun, never ended, and may not be made again without being asked about. */
function doubtsOf(records: readonly JournalRecord[]): readonly Doubt[] {
  const ended = new Set<string>();
  const over = new Set<string>();
  for (const { exec, key, phase } of records) {
    if (phase !== "end") continue;
    ended.add(`${exec}:${key}`);
    // As the id of an execution, where it was a hire.
    over.add(`${exec}/${key}`);
  }
  const open = new Map<string, Doubt>();
  for (const { exec, key, phase, body } of records) {
    const full = `${exec}:${key}`;
    if (phase !== "begin" || body["ask"] !== true || ended.has(full) || isBelow(exec, over)) continue;
    open.set(full, { exec, key, full, tool: textAt(body, "tool") });
  }
  return [...open.values()];
}

/** Whoever was hired by somebody whose hire is over will not be asked again. */
function isBelow(exec: string, over: ReadonlySet<string>): boolean {
  for (let end = exec.length; end > 0; end = exec.lastIndexOf("/", end - 1))
    if (over.has(exec.slice(0, end))) return true;
  return false;
}
