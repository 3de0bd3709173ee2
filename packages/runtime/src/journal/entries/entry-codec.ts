import type { JournalEntry, JournalRecord, JsonObject, RunId } from "@ravi/kernel";
import { checkEntry, checkList, type KnownNames, type Row } from "./entry-check.ts";
import { type LargeBody, largeBody, mayExceed } from "./large-body.ts";
import { stringify } from "../parts/plain-json.ts";
import { factsOf, type RunFacts } from "../facts/run-facts.ts";

/**
 * Entries ready to be written to disk. They become text when they are handed over: if the caller changes an object later, the
 * record does not change, and every journal returns exactly what a round trip through JSON gives. `JSON.stringify` is the cheapest
 * such snapshot: a deep freeze would freeze objects of the caller's tools, and a copy of the objects costs more to make and twice
 * as much memory to keep.
 */
export interface EncodedEntries {
  /** A JSON list of `[exec, key, attempt, phase, at, body]`, or `[…, at, null, ref]` if the body is stored as a blob. */
  readonly text: string;
  /** The entries before they became text, for their identities. */
  readonly rows: readonly Row[];
  /** The time of the last entry. */
  readonly at: number;
  /** The bodies that are stored as blobs. */
  readonly large: readonly LargeBody[];
  readonly facts: RunFacts | undefined;
}

type StoredRow = readonly [...fields: Row, ref?: string];

const NONE: readonly LargeBody[] = [];

/** Checks and encodes entries. Throws an `InvalidValueError` if one is not valid. */
export function encodeEntries(
  runId: RunId,
  list: readonly JournalEntry[],
  last?: KnownNames,
): EncodedEntries {
  checkList(list);
  const [only] = list;
  // Not with `map` for one entry: an array that grows from empty reserves room for seventeen, and there is nearly always only one.
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

/** Joins several encoded texts into one, in order. */
export function joinTexts(texts: readonly string[]): string {
  return `[${texts.map((text) => text.slice(1, -1)).join(",")}]`;
}

/** Reads a body that is stored as a blob. */
export type FetchBody = (ref: string, seq: number) => JsonObject;

/** Decodes one text and appends its records to `into`. The first record gets the number `first`. */
export function decodeEntries(
  text: string,
  first: number,
  into: JournalRecord[],
  fetchBody: FetchBody,
): void {
  let seq = first;
  for (const [exec, key, attempt, phase, at, inline, ref] of JSON.parse(text) as readonly StoredRow[]) {
    const body = ref === undefined ? inline : fetchBody(ref, seq);
    // The text was made from checked entries, and a store on disk has verified its checksum.
    into.push({ seq, exec, key, attempt, phase, at, body } as JournalRecord);
    seq++;
  }
}
