import { checkRecord } from "../core/check.ts";
import { InvalidValueError } from "../errors/errors.ts";

/** A decision about an operation that may or may not have happened before a crash. */
export type Decision = "retry" | "skip" | "fail";
/** Decisions by key: `execId:key`, or the key alone if it is unique. */
export type Decisions = Readonly<Record<string, Decision>>;

/** An operation that may or may not have happened. */
export interface InDoubt {
  readonly execId: string;
  readonly key: string;
}

const KNOWN: readonly unknown[] = ["retry", "skip", "fail"] satisfies readonly Decision[];

/** Refuses anything but the three decisions: a misspelt one must not be taken for another. */
export function checkDecisions(decisions: unknown): void {
  const given = checkRecord("decisions", decisions, 'an object such as { "run:tool:pay#1": "retry" }');
  for (const [key, decision] of Object.entries(given)) {
    if (KNOWN.includes(decision)) continue;
    const field = `decisions[${JSON.stringify(key)}]`;
    throw new InvalidValueError({ field, value: decision, expected: '"retry", "skip" or "fail"' });
  }
}

/**
 * Turns the keys of decisions into full keys (`execId:key`). The key alone is enough if exactly one execution has a call in doubt
 * under it; if several have, it is refused, because they are different calls. A key that matches nothing is kept as it is.
 */
export function fullDecisions(doubts: readonly InDoubt[], decisions: Decisions): Decisions {
  checkDecisions(decisions);
  const full: Record<string, Decision> = {};
  for (const [given, decision] of Object.entries(decisions)) full[fullKeyOf(given, doubts)] = decision;
  return full;
}

function fullKeyOf(given: string, doubts: readonly InDoubt[]): string {
  const fullKeys = doubts.map(({ execId, key }) => `${execId}:${key}`);
  if (fullKeys.includes(given)) return given;
  const matches = fullKeys.filter((_, index) => doubts[index]?.key === given);
  if (matches.length < 2) return matches[0] ?? given;
  throw new InvalidValueError({
    field: "decisions",
    value: given,
    expected: `one of ${matches.join(", ")}, because several calls in doubt have that key`,
  });
}
