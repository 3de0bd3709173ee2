import type { DatabaseSync, StatementSync } from "node:sqlite";
import { isRaviError, type JournalRecord, type RunId } from "@ravi/kernel";
import { decodeEntries, type FetchBody } from "../entries/entry-codec.ts";
import { checksum, checksumSeed, type RowContent } from "./checksum.ts";
import { damaged, isBusy, isOutOfResources } from "./errors.ts";
import { RowWriter } from "./row-writer.ts";
import { type Columns, type RowReader, rowReader } from "./read-ahead.ts";

/** Deleting a row takes as long as deleting this many bytes. */
const ROW_WEIGHT = 10_000;

/** The end of a run's chain of rows. */
export interface Tip {
  readonly fence: number;
  readonly entries: number;
  readonly last: number;
}

interface NewRow extends RowContent {
  readonly id: number;
  readonly run: number;
  readonly seed: number;
}

interface LogRow extends RowContent {
  readonly runId: RunId;
  readonly run: number;
}

/** A row as it is in the file, not verified yet. */
interface StoredRow extends LogRow {
  readonly crc: number;
}

/** The rows of all runs. Those of a run are chained backwards from its tip. See `SCHEMA`. */
export class Log {
  private readonly highest: StatementSync;
  private readonly insert: RowWriter;
  private readonly rows: RowReader;
  private readonly remove: StatementSync;
  private readonly removeAll: StatementSync;

  constructor(db: DatabaseSync) {
    this.highest = db.prepare("SELECT max(id) AS id FROM log");
    this.insert = new RowWriter(db, "INSERT INTO log", 7);
    this.rows = rowReader(db);
    this.remove = db.prepare(
      "DELETE FROM log WHERE id = ? AND run = ? RETURNING prev, count, octet_length(data) AS bytes",
    );
    this.removeAll = db.prepare("DELETE FROM log WHERE run = ?");
  }

  highestId(): number {
    return Number(this.highest.get()?.["id"] ?? 0);
  }

  /** Adds a row. It is written with the next `flush`. */
  add(row: NewRow): void {
    const { id, run, first, count, prev, seed, data } = row;
    this.insert.add(id, run, first, count, prev, checksum(seed, row), data);
  }

  flush(): void {
    this.insert.flush();
  }

  /**
   * All records of a run. Throws a `JournalCorruptError` with the first place, from the end, where something is wrong. It reads row
   * by row, since each must be verified before its pointer to the next is trusted.
   */
  read(runId: RunId, run: number, tip: Tip, fetchBody: FetchBody): JournalRecord[] {
    if (tip.entries < 0) throw damaged(runId, 0, "the end of its journal is missing or damaged");
    const rows: StoredRow[] = [];
    const next = this.rows.along(run);
    let end = tip.entries;
    for (let id = tip.last; end > 0 || id !== 0;) {
      const row = storedRow(runId, id, end, next);
      const problem = problemOf(row, run, end);
      if (problem !== undefined) throw damaged(runId, placeOf(row, end), problem);
      rows.push(row);
      end = row.first - 1;
      id = row.prev;
    }
    const records: JournalRecord[] = [];
    for (const row of rows.toReversed()) {
      decode(runId, row, records, fetchBody);
      if (records.length !== row.first + row.count - 1) {
        throw damaged(
          runId,
          row.first,
          `its row should have ${row.count} entries, but has a different number`,
        );
      }
    }
    return records;
  }

  /**
   * Deletes a run's rows along its chain; if the chain is broken, by searching the whole log. Returns the weight of what was
   * deleted.
   */
  delete(run: number, tip: Tip): number {
    let left = tip.entries;
    let weight = 0;
    try {
      for (let id = tip.last; id !== 0;) {
        const deleted = this.remove.get(id, run);
        if (deleted === undefined) break;
        left -= Number(deleted["count"]);
        weight += ROW_WEIGHT + Number(deleted["bytes"]);
        id = Number(deleted["prev"]);
      }
    } catch (error) {
      // A number that JavaScript cannot represent is damage, as any other. If the disk fails, the search fails too.
      if (!(error instanceof RangeError)) throw error;
    }
    if (left !== 0) this.removeAll.run(run);
    return weight;
  }
}

function storedRow(
  runId: RunId,
  id: number,
  end: number,
  next: (id: number) => Columns | undefined,
): StoredRow {
  let columns: Columns | undefined;
  try {
    columns = next(id);
  } catch (cause) {
    if (isBusy(cause) || isOutOfResources(cause)) throw cause;
    // This includes a number that JavaScript cannot represent, after a flipped bit.
    throw damaged(runId, end, "its row cannot be read", cause);
  }
  if (columns === undefined) throw damaged(runId, end, "its row is missing");
  const [, run, first, count, prev, crc, data] = columns;
  return { runId, run, first, count, prev, crc, data };
}

function decode(runId: RunId, row: StoredRow, into: JournalRecord[], fetchBody: FetchBody): void {
  try {
    decodeEntries(row.data, row.first, into, fetchBody);
  } catch (cause) {
    if (isRaviError(cause)) throw cause;
    throw damaged(runId, row.first, "its text cannot be decoded, although its checksum matches", cause);
  }
}

function problemOf(row: StoredRow, run: number, end: number): string | undefined {
  if (typeof row.data !== "string") return "its data is not text";
  if (checksum(checksumSeed(row.runId, row.run), row) !== row.crc)
    return "its checksum does not match its content";
  if (row.run !== run) return `its row belongs to another run (${row.run})`;
  if (row.count < 1 || row.first + row.count - 1 !== end) {
    return `entries up to ${end} were expected, but its row has ${row.first} to ${row.first + row.count - 1}`;
  }
  return undefined;
}

/** The row's own number, if it is plausible. */
function placeOf(row: StoredRow, end: number): number {
  return Number.isSafeInteger(row.first) && row.first >= 1 && row.first <= end ? row.first : end;
}
