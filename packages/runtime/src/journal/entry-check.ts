import { InvalidValueError, type JournalEntry, type JsonObject } from "@ravi/kernel";

/** An entry that was checked. A list, since it becomes one in a file. */
export type Row = readonly [
  exec: string,
  key: string,
  attempt: number,
  phase: JournalEntry["phase"],
  at: number,
  body: JsonObject,
];

/** Names that were looked at before. */
export interface KnownNames {
  readonly exec: string | undefined;
  readonly key: string | undefined;
}

/**
 * Each field is read once, so that what was checked is what is kept. What is inside the body shows when it becomes text. Of
 * the names of the last entry most come again; not to look at them twice saves 50 ns.
 */
export function checkEntry(entry: JournalEntry, last: KnownNames | undefined): Row {
  refuseNoEntry(entry);
  const { exec, key, attempt, phase, at, body } = entry;
  checkFields(exec, key, attempt, phase, at, body, last);
  return [exec, key, plainZero(attempt), phase, plainZero(at), body];
}

export function refuseNoEntry(entry: JournalEntry): void {
  if (typeof entry !== "object" || entry === null) {
    throw new InvalidValueError({ field: "entry", value: entry, expected: "an entry" });
  }
}

/** One by one, for whoever makes no row of them. */
export function checkFields(
  exec: string,
  key: string,
  attempt: number,
  phase: string,
  at: number,
  body: JsonObject,
  last: KnownNames | undefined,
): void {
  if (exec !== last?.exec && !isName(exec)) refuse("exec", exec, "the id of an execution");
  if (key !== last?.key && !isName(key)) {
    refuse("key", key, "a text such as kind:name#1, without control characters");
  }
  if (!Number.isSafeInteger(attempt)) refuse("attempt", attempt, "a whole number");
  if (phase !== "begin" && phase !== "end" && phase !== "note") refuse("phase", phase, "begin, end or note");
  if (!Number.isFinite(at)) refuse("at", at, "epoch milliseconds");
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    refuse("body", body, "an object of plain JSON");
  }
}

/** In JSON, -0 is 0; so it is everywhere. */
export function plainZero(value: number): number {
  return value === 0 ? 0 : value;
}

export function checkList(entries: unknown): void {
  if (Array.isArray(entries)) return;
  throw new InvalidValueError({ field: "entries", value: entries, expected: "a list of entries" });
}

/** Sign by sign: a regular expression takes twice as long, which is a hundredth of a run. */
function isName(value: unknown): boolean {
  if (typeof value !== "string" || value.length === 0) return false;
  for (let at = 0; at < value.length; at++) {
    const code = value.charCodeAt(at);
    if (code < 0x20 || code === 0x7f) return false;
  }
  return true;
}

function refuse(field: string, value: unknown, expected: string): never {
  throw new InvalidValueError({ field: `entry.${field}`, value, expected });
}
