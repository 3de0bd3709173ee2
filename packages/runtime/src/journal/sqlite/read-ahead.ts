import type { DatabaseSync, StatementSync } from "node:sqlite";

/** A row as SQLite returns it, not verified yet. */
export type Columns = readonly [
  id: number,
  run: number,
  first: number,
  count: number,
  prev: number,
  crc: number,
  data: string,
];

const COLUMNS = "id, run, first, count, prev, crc, data";
const WIDEST = 2_048;
/** Reading ahead is worth it if at least one in this many rows belongs to the run. */
const SPARSE = 8;

export interface RowReader {
  /** Returns a function that gives rows of one run, each with a lower id than the one before. */
  along(run: number): (id: number) => Columns | undefined;
}

/**
 * Reads rows by their ids, from the end backwards. If a run was alone, its rows are adjacent, and reading a range takes a fraction
 * of the time of single reads. Among many runs its rows are far apart, and are read one by one.
 */
export function rowReader(db: DatabaseSync): RowReader {
  const single = prepare(db, `SELECT ${COLUMNS} FROM log WHERE id = ?`);
  const stretch = prepare(
    db,
    `SELECT ${COLUMNS} FROM log WHERE id BETWEEN ? AND ? AND run = ? ORDER BY id DESC`,
  );
  const one = (id: number): Columns | undefined => {
    const row: unknown = single.get(id);
    return row as Columns | undefined;
  };

  const along = (run: number): ((id: number) => Columns | undefined) => {
    let width = 16;
    let ahead: readonly Columns[] = [];
    let at = 0;
    const refill = (id: number): void => {
      at = 0;
      try {
        const rows: unknown = stretch.all(id - width + 1, id, run);
        ahead = rows as readonly Columns[];
        const dense = ahead.length * SPARSE >= width;
        width = dense ? Math.min(WIDEST, width * 2) : Math.max(1, width / 2);
      } catch {
        // Some row in the range cannot be read. Reading one by one, the error names the right one.
        ahead = [];
        width = 1;
      }
    };
    return (id) => {
      // After the last one it stops at any id: a damaged one may be negative.
      for (; (ahead[at]?.[0] ?? id) > id; at++);
      if (ahead[at]?.[0] !== id) {
        if (width > 1) refill(id);
        if (ahead[at]?.[0] !== id) return one(id);
      }
      return ahead[at++];
    };
  };
  return { along };
}

function prepare(db: DatabaseSync, sql: string): StatementSync {
  const statement = db.prepare(sql);
  // Takes half the time of objects, and a run may have 100,000 rows.
  statement.setReturnArrays(true);
  return statement;
}
