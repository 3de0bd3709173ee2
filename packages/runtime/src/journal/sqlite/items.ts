import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { JsonValue, PostedItem, PostedRecord, RunId } from "@ravi/kernel";
import { nodeZlib } from "../parts/platform.ts";
import { damaged } from "./errors.ts";

interface ItemRow extends Omit<PostedRecord, "value"> {
  readonly crc: number;
  readonly value: string;
}

/** The newest item at some moment. */
export interface Mark {
  readonly row: number;
  readonly run: RunId;
  readonly id: string;
}

/** The items that were posted to runs, numbered from 1 in each run. */
export class Items {
  private readonly insert: StatementSync;
  private readonly highest: StatementSync;
  private readonly known: StatementSync;
  private readonly select: StatementSync;
  private readonly remove: StatementSync;
  private readonly orphans: StatementSync;
  private readonly newest: StatementSync;
  private readonly atRow: StatementSync;
  private readonly behindRow: StatementSync;

  constructor(db: DatabaseSync) {
    this.insert = db.prepare("INSERT INTO items VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
    this.highest = db.prepare("SELECT CAST(max(seq) AS REAL) AS seq FROM items WHERE run = ?");
    this.known = db.prepare("SELECT 1 FROM items WHERE run = ? AND id = ?");
    this.select = db.prepare(
      "SELECT seq, id, kind, name, at, crc, value FROM items WHERE run = ? AND seq > ? ORDER BY seq",
    );
    this.remove = db.prepare("DELETE FROM items WHERE run = ?");
    this.orphans = db.prepare(
      "SELECT run FROM items WHERE run NOT IN (SELECT id FROM runs) GROUP BY run HAVING max(at) <= ?",
    );
    this.newest = db.prepare("SELECT rowid AS row, run, id FROM items ORDER BY rowid DESC LIMIT 1");
    this.atRow = db.prepare("SELECT 1 FROM items WHERE rowid = ? AND run = ? AND id = ?");
    // Not DISTINCT: for that SQLite reads the whole index of runs.
    this.behindRow = db.prepare("SELECT run FROM items WHERE rowid > ?");
  }

  /** Call inside the transaction. A repeated id is ignored. */
  add(runId: RunId, { id, kind, name, at }: PostedItem, value: string): void {
    if (this.known.get(runId, id) !== undefined) return;
    const seq = Number(this.highest.get(runId)?.["seq"] ?? 0) + 1;
    if (!Number.isSafeInteger(seq)) throw damaged(runId, seq, "the number of a posted item is damaged");
    const crc = checksum(runId, { seq, id, kind, name, at, value });
    this.insert.run(runId, seq, id, kind, name, at, crc, value);
  }

  /** The items of a run after a number. Throws a `JournalCorruptError` if one is missing or damaged. */
  after(runId: RunId, after: number): PostedRecord[] {
    const rows = this.select.all(runId, after) as (Record<string, unknown> & ItemRow)[];
    return rows.map((row, index) => {
      const { seq, id, kind, name, at, crc, value } = row;
      const expected = after + index + 1;
      if (seq !== expected) throw damaged(runId, expected, "a posted item is missing");
      if (checksum(runId, row) !== crc)
        throw damaged(runId, seq, "the checksum of a posted item does not match its content");
      return { seq, id, kind, name, at, value: JSON.parse(value) as JsonValue };
    });
  }

  /** The newest item; undefined if there is none. */
  mark(): Mark | undefined {
    return this.newest.get() as (Record<string, unknown> & Mark) | undefined;
  }

  /**
   * The runs for which something was posted since the mark; undefined if that is not known, because the marked row was deleted:
   * SQLite may then give its row number to a new one.
   */
  runsSince(mark: Mark | undefined): ReadonlySet<RunId> | undefined {
    if (mark !== undefined && this.atRow.get(mark.row, mark.run, mark.id) === undefined) return undefined;
    return new Set(this.behindRow.all(mark?.row ?? 0).map((row) => row["run"] as RunId));
  }

  delete(runId: RunId): void {
    this.remove.run(runId);
  }

  /** Ids with old items but without a run. */
  orphansBefore(before: number): RunId[] {
    return this.orphans.all(before).map((row) => row["run"] as RunId);
  }
}

function checksum(runId: RunId, row: Omit<ItemRow, "crc">): number {
  return nodeZlib().crc32(JSON.stringify([runId, row.seq, row.id, row.kind, row.name, row.at, row.value]));
}
