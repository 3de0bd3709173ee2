import {
  InvalidValueError,
  type JournalEntry,
  type JournalRecord,
  type JsonObject,
  type RunId,
} from "@ravi/kernel";
import { stringify } from "./plain-json.ts";
import { type RunFacts, runFacts } from "./run-facts.ts";

/**
 * Entries on their way into a journal. The text is made when they are handed over, so that a caller who changes an object
 * afterwards changes nothing that is recorded, and so that every journal gives back exactly what a round trip through JSON
 * gives. `JSON.stringify` is the cheapest such snapshot: a deep freeze would freeze the objects of the caller's tools, and
 * `structuredClone` costs several times as much.
 */
export interface EncodedEntries {
  /** A JSON array of `[exec, key, attempt, phase, at, body]`, or `[…, at, null, ref]` where the body is kept apart. */
  readonly text: string;
  /** The same before it became text, for their identities. */
  readonly rows: readonly Row[];
  /** The last entry's time. */
  readonly at: number;
  readonly facts: RunFacts | undefined;
}

type Row = readonly [
  exec: string,
  key: string,
  attempt: number,
  phase: string,
  at: number,
  body: JsonObject | null,
  ref?: string,
];

/** `putAside` keeps a large body elsewhere and names it; without it, and where it gives no name, bodies stay in the text. */
export function encodeEntries(
  runId: RunId,
  entries: readonly JournalEntry[],
  putAside?: (body: JsonObject) => string | undefined,
): EncodedEntries {
  checkList(entries);
  const rows: Row[] = [];
  let facts: RunFacts | undefined;
  let at = 0;
  for (const entry of entries) {
    checkEntry(entry);
    at = entry.at;
    const { exec, key, attempt, phase, body } = entry;
    const ref = putAside?.(body);
    rows.push(
      ref === undefined ? [exec, key, attempt, phase, at, body] : [exec, key, attempt, phase, at, null, ref],
    );
    if (entry.phase === "note") facts = runFacts(runId, entry, facts);
  }
  return { text: stringify(rows), rows, at, facts };
}

/** Several texts as one, in their order. */
export function joinTexts(texts: readonly string[]): string {
  const [only] = texts;
  if (only !== undefined && texts.length === 1) return only;
  return `[${texts.map((text) => text.slice(1, -1)).join(",")}]`;
}

/** Gets a body that is kept apart. */
export type FetchBody = (ref: string, seq: number) => JsonObject;

/** Adds the records of one text, the first of which has the number `first`. */
export function decodeEntries(
  text: string,
  first: number,
  into: JournalRecord[],
  fetchBody: FetchBody,
): void {
  let seq = first;
  for (const [exec, key, attempt, phase, at, inline, ref] of JSON.parse(text) as readonly Row[]) {
    const body = ref === undefined ? inline : fetchBody(ref, seq);
    // The text was made from checked entries; a store on disk has compared its checksum before.
    into.push({ seq, exec, key, attempt, phase, at, body } as JournalRecord);
    seq++;
  }
}

function checkList(entries: unknown): void {
  if (Array.isArray(entries)) return;
  throw new InvalidValueError({ field: "entries", value: entries, expected: "a list of entries" });
}

function checkEntry(entry: JournalEntry): void {
  if (typeof entry !== "object" || entry === null) {
    throw new InvalidValueError({ field: "entry", value: entry, expected: "an entry" });
  }
  const { exec, key, attempt, phase, at, body } = entry;
  if (!isName(exec)) refuse("exec", exec, "the id of an execution");
  if (!isName(key)) refuse("key", key, "a text such as kind:name#1, without control characters");
  if (!Number.isSafeInteger(attempt)) refuse("attempt", attempt, "a whole number");
  if (phase !== "begin" && phase !== "end" && phase !== "note") refuse("phase", phase, "begin, end or note");
  if (!Number.isFinite(at)) refuse("at", at, "epoch milliseconds");
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    refuse("body", body, "an object of plain JSON");
  }
}

// oxlint-disable-next-line no-control-regex -- those that must not be there
const CONTROL = /[\u0000-\u001f\u007f]/;

function isName(value: unknown): boolean {
  return typeof value === "string" && value.length > 0 && !CONTROL.test(value);
}

function refuse(field: string, value: unknown, expected: string): never {
  throw new InvalidValueError({ field: `entry.${field}`, value, expected });
}
