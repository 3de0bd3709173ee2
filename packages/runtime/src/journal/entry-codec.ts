import type { JournalEntry, JournalRecord, JsonObject, RunId } from "@ravi/kernel";
import { checkEntry, checkList, type KnownNames, type Row } from "./entry-check.ts";
import { type LargeBody, largeBody, mayExceed } from "./large-body.ts";
import { stringify } from "./plain-json.ts";
import { factsOf, type RunFacts } from "./run-facts.ts";

/**
 * Entries on their way to a disk. The text is made when they are handed over, so that a caller who changes an object
 * afterwards changes nothing that is recorded, and so that every journal gives back exactly what a round trip through JSON
 * gives. `JSON.stringify` is the cheapest such snapshot: a deep freeze would freeze the objects of the caller's tools, and a
 * copy of the objects costs more to make and twice as much to keep.
 */
export interface EncodedEntries {
  /** A JSON list of `[exec, key, attempt, phase, at, body]`, or `[…, at, null, ref]` where the body is kept apart. */
  readonly text: string;
  /** The same before they became text, for their identities. */
  readonly rows: readonly Row[];
  /** The last entry's time. */
  readonly at: number;
  /** The bodies that are kept apart. */
  readonly large: readonly LargeBody[];
  readonly facts: RunFacts | undefined;
}

type StoredRow = readonly [...fields: Row, ref?: string];

const NONE: readonly LargeBody[] = [];

export function encodeEntries(
  runId: RunId,
  list: readonly JournalEntry[],
  last?: KnownNames,
): EncodedEntries {
  checkList(list);
  const [only] = list;
  // A list that begins empty and grows takes room for seventeen, and nearly always it is one.
  const rows = list.length === 1 && only !== undefined ? [checkEntry(only, last)] : list.map(checked);
  const at = rows.at(-1)?.[4] ?? 0;
  const text = stringify(rows);
  const facts = factsOf(runId, rows);
  if (!mayExceed(text)) return { text, rows, at, large: NONE, facts };
  const large: LargeBody[] = [];
  const stored = rows.map((row) => {
    const blob = largeBody(row[5]);
    if (blob === undefined) return row;
    large.push(blob);
    return [...row.slice(0, 5), null, blob.ref];
  });
  return { text: stringify(stored), rows, at, large, facts };
}

function checked(entry: JournalEntry): Row {
  return checkEntry(entry, undefined);
}

/** Several texts as one, in their order. */
export function joinTexts(texts: readonly string[]): string {
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
  for (const [exec, key, attempt, phase, at, inline, ref] of JSON.parse(text) as readonly StoredRow[]) {
    const body = ref === undefined ? inline : fetchBody(ref, seq);
    // The text was made from checked entries; a store on disk has compared its checksum before.
    into.push({ seq, exec, key, attempt, phase, at, body } as JournalRecord);
    seq++;
  }
}
