import { InvalidValueError, type JournalEntry, type JsonObject } from "@ravi/kernel";
import type { Identities } from "./identities.ts";

/** A checked entry, as a tuple because it is stored as one. */
export type Row = readonly [
  exec: string,
  key: string,
  attempt: number,
  phase: JournalEntry["phase"],
  at: number,
  body: JsonObject,
];

/** Names that were checked already. */
export interface KnownNames {
  /** The `exec` and `key` of the last entry. */
  readonly exec: string | undefined;
  readonly key: string | undefined;
  /** The entries before it, if there are many. */
  readonly identities: Pick<Identities, "has"> | undefined;
}

/**
 * Checks an entry. Each field is read only once, so that what was checked is what is stored. The content of the body is checked
 * when it becomes text. Names of earlier entries are not checked again: the id of an execution has 50 characters.
 */
export function checkEntry(entry: JournalEntry, last: KnownNames | undefined): Row {
  refuseNoEntry(entry);
  const { exec, key, attempt, phase, at, body } = entry;
  checkFields(exec, key, attempt, phase, at, body, last);
  return [exec, key, plainZero(attempt), phase, plainZero(at), body];
}

/** Throws an `InvalidValueError` if it is no object. */
export function refuseNoEntry(entry: JournalEntry): void {
  if (typeof entry !== "object" || entry === null) {
    throw new InvalidValueError({ field: "entry", value: entry, expected: "an object" });
  }
}

/** Checks the fields of an entry, for a caller that creates no row. */
export function checkFields(
  exec: string,
  key: string,
  attempt: number,
  phase: string,
  at: number,
  body: JsonObject,
  last: KnownNames | undefined,
): void {
  if (exec !== last?.exec && last?.identities?.has(exec) !== true && !isName(exec))
    refuse("exec", exec, "the id of an execution, without control characters");
  if (key !== last?.key && !isName(key)) {
    refuse("key", key, "a string such as kind:name#1, without control characters");
  }
  if (!Number.isSafeInteger(attempt)) refuse("attempt", attempt, "a whole number");
  if (phase !== "begin" && phase !== "end" && phase !== "note")
    refuse("phase", phase, '"begin", "end" or "note"');
  if (!Number.isFinite(at)) refuse("at", at, "a time in epoch milliseconds");
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    refuse("body", body, "a plain JSON object");
  }
}

/** JSON turns -0 into 0, so all journals do. */
export function plainZero(value: number): number {
  return value === 0 ? 0 : value;
}

/** Throws an `InvalidValueError` if it is no list. */
export function checkList(entries: unknown): void {
  if (Array.isArray(entries)) return;
  throw new InvalidValueError({ field: "entries", value: entries, expected: "a list of entries" });
}

// oxlint-disable-next-line no-control-regex -- these are what a name must not have
const CONTROL = /[\u0000-\u001f\u007f]/;

/** Whether it can name an execution or a step. With a regular expression: for the id of an execution a loop takes three times as long. */
export function isName(value: unknown): value is string {
  return typeof value === "string" && value.length > 0 && !CONTROL.test(value);
}

function refuse(field: string, value: unknown, expected: string): never {
  throw new InvalidValueError({ field: `entry.${field}`, value, expected });
}
