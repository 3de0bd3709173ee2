import { type Clock, InvalidValueError, isRaviError, type Journal } from "@ravi/kernel";
import { SqliteJournal } from "@ravi/runtime";
import { nodeModule } from "../../node/node-module.ts";

/** A journal that is lent to one run. */
export interface BorrowedJournal {
  readonly journal: Journal | undefined;
  /** The directory that it was opened in; undefined for a journal that the user opened. */
  readonly directory: string | undefined;
  /** To be called once, when the run no longer needs it. */
  release(): Promise<void>;
}

interface Shared {
  readonly journal: SqliteJournal;
  users: number;
}

/** The file of a `SqliteJournal`. */
const FILE = "ravi.db";

/** One open journal per directory, shared by the runs of this process while any of them lasts, so that they share its commits. */
const open = new Map<string, Shared>();

/**
 * For calls about a run that is on record: throws if there is no journal in the directory. Otherwise one would be created, and an
 * approval written where no run looks.
 */
export function checkOnRecord(given: unknown): void {
  checkGiven(given);
  const missing = missingIn(given);
  if (missing === undefined) return;
  const expected = `the directory that the run was recorded in; this one ${missing}`;
  throw new InvalidValueError({ field: "journal", value: given, expected });
}

/** Why there is no journal yet; undefined if there is one, or if opening it will say what is wrong. */
export function missingIn(given: unknown): string | undefined {
  if (typeof given !== "string") return undefined;
  const { statSync } = nodeModule("node:fs");
  const look = (path: string) => statSync(path, { throwIfNoEntry: false });
  try {
    const found = look(given);
    if (found === undefined) return "does not exist";
    if (!found.isDirectory()) return undefined;
    const file = look(nodeModule("node:path").join(given, FILE));
    if (file === undefined) return `has no ${FILE}`;
    // Opening it would make a journal of it.
    return file.size === 0 ? `has an empty ${FILE}` : undefined;
  } catch {
    // It may not be looked at.
    return undefined;
  }
}

/** Throws if there is no journal: without one, `runs` would answer "no runs", which is wrong. */
export function checkGiven(given: unknown): void {
  if ((typeof given === "string" && given !== "") || (typeof given === "object" && given !== null)) return;
  const expected = "the path of a journal's directory, or an open Journal";
  throw new InvalidValueError({ field: "journal", value: given, expected });
}

/**
 * Opens the journal of a directory, which is closed when the last run gives it back. A journal that the user opened stays open.
 */
export function borrowJournal(
  given: string | Journal | undefined,
  clock: Clock | undefined,
): BorrowedJournal {
  if (typeof given !== "string") {
    return { journal: given, directory: undefined, release: async () => {} };
  }
  if (clock !== undefined) {
    // A journal lets claims expire by the clock that it was opened with, so one with a special clock is not shared.
    const journal = SqliteJournal.open(given, { clock });
    return { journal, directory: given, release: () => journal.close() };
  }
  const path = nodeModule("node:path").resolve(given);
  const shared = sharedAt(path);
  shared.users++;
  return {
    journal: shared.journal,
    directory: given,
    async release() {
      shared.users--;
      if (shared.users > 0) return;
      if (open.get(path) === shared) open.delete(path);
      await shared.journal.close();
    },
  };
}

/** The same to look at what is on record: also where it cannot be written. That one is not shared, as runs need one that can. */
export function borrowToLook(given: string | Journal, clock: Clock | undefined): BorrowedJournal {
  try {
    return borrowJournal(given, clock);
  } catch (error) {
    if (typeof given !== "string" || !isRaviError(error, "INVALID_VALUE")) throw error;
    const journal = SqliteJournal.open(given, { clock, readOnly: "ifNeeded" });
    return { journal, directory: given, release: () => journal.close() };
  }
}

/** A journal that has failed for good (a full disk, say) stays with the runs that use it; the next run opens a new one. */
function sharedAt(path: string): Shared {
  const known = open.get(path);
  if (known !== undefined && !known.journal.isFailed) return known;
  const shared = { journal: SqliteJournal.open(path), users: 0 };
  open.set(path, shared);
  return shared;
}
