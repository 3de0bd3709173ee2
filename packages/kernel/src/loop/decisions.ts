import { checkRecord } from "../core/check.ts";
import { InvalidValueError } from "../errors/errors.ts";

/** What somebody decided on an effect that was in doubt. */
export type Decision = "retry" | "skip" | "fail";
export type Decisions = Readonly<Record<string, Decision>>;

/** An effect of an execution that may or may not have been made. */
export interface InDoubt {
  readonly execId: string;
  readonly key: string;
}

const KNOWN: readonly unknown[] = ["retry", "skip", "fail"] satisfies readonly Decision[];

/** A misspelt decision must not be taken for another. */
export function checkDecisions(decisions: unknown): void {
  const given = checkRecord("decisions", decisions, 'an object such as { "run:tool:pay#1": "retry" }');
  for (const [key, decision] of Object.entries(given)) {
    if (KNOWN.includes(decision)) continue;
    const field = `decisions[${JSON.stringify(key)}]`;
    throw new InvalidValueError({ field, value: decision, expected: "retry, skip or fail" });
  }
}

/**
 * Decisions under full keys (`execId:key`). The key alone will do where exactly one execution is in doubt under it: the same
 * key in another execution is another call, and what was decided on one must not fall on both. What fits nothing stays as given.
 */
export function fullDecisions(doubts: readonly InDoubt[], decisions: Decisions): Decisions {
  checkDecisions(decisions);
  const full: Record<string, Decision> = {};
  for (const [given, decision] of Object.entries(decisions)) full[meantBy(given, doubts)] = decision;
  return full;
}

function meantBy(given: string, doubts: readonly InDoubt[]): string {
  const wholes = doubts.map(({ execId, key }) => `${execId}:${key}`);
  if (wholes.includes(given)) return given;
  const meant = wholes.filter((_, index) => doubts[index]?.key === given);
  if (meant.length < 2) return meant[0] ?? given;
  throw new InvalidValueError({
    field: "decisions",
    value: given,
    expected: `one of ${meant.join(", ")}: several calls are in doubt under that key`,
  });
}
