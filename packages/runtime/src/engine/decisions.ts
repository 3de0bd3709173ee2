import { InvalidValueError, type JournalRecord } from "@ravi/kernel";

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

/** Calls that were begun, never ended, and may not be made again without being asked about. */
function doubtsOf(records: readonly JournalRecord[]): { readonly key: string; readonly full: string }[] {
  const ended = new Set(
    records.filter(({ phase }) => phase === "end").map(({ exec, key }) => `${exec}:${key}`),
  );
  const begun = records.filter(({ phase, body }) => phase === "begin" && body["ask"] === true);
  const open = new Map(begun.map(({ exec, key }) => [`${exec}:${key}`, key]));
  return [...open].filter(([full]) => !ended.has(full)).map(([full, key]) => ({ key, full }));
}
