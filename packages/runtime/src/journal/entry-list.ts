import type { JournalEntry, JsonObject } from "@ravi/kernel";
import type { KnownNames, Row } from "./entry-check.ts";

/** Text, or an object that never changes. */
export type KeptBody = string | JsonObject;

interface KeptEntry extends Omit<JournalEntry, "body"> {
  readonly body: KeptBody;
}

/** `exec`, `key`, `attempt`, `phase`, `at` and `body` of one entry after the other. */
type Cell = KeptBody | number;
const WIDTH = 6;

/**
 * Entries that stay in memory. They lie side by side in one array: with an object for each an append costs 0.75 µs instead
 * of 0.35, all of the difference in the garbage collector, which has to move them.
 */
export class EntryList implements KnownNames {
  /** Of the last entry. */
  exec: string | undefined;
  key: string | undefined;
  private readonly cells: Cell[] = [];

  get length(): number {
    return this.cells.length / WIDTH;
  }

  push(row: Row, body: KeptBody): void {
    this.exec = row[0];
    this.key = row[1];
    this.cells.push(row[0], row[1], row[2], row[3], row[4], body);
  }

  /** From the last to the first, since an end most often follows its begin. */
  has(row: Row): boolean {
    const { cells } = this;
    for (let at = cells.length - WIDTH; at >= 0; at -= WIDTH) {
      if (
        cells[at + 3] === row[3] &&
        cells[at + 1] === row[1] &&
        cells[at + 2] === row[2] &&
        cells[at] === row[0]
      )
        return true;
    }
    return false;
  }

  toArray(): KeptEntry[] {
    const entries: KeptEntry[] = [];
    for (let from = 0; from < this.cells.length; from += WIDTH) {
      const [exec, key, attempt, phase, at, body] = this.cells.slice(from, from + WIDTH);
      // As they were pushed.
      entries.push({ exec, key, attempt, phase, at, body } as KeptEntry);
    }
    return entries;
  }
}
