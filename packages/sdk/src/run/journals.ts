import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { type Clock, InvalidValueError, type Journal } from "@ravi/kernel";
import { SqliteJournal } from "@ravi/runtime";

/** A journal for as long as a run needs it. */
export interface BorrowedJournal {
  readonly journal: Journal | undefined;
  /** Where its runs are found again; undefined for a journal that the user opened. */
  readonly directory: string | undefined;
  giveBack(): Promise<void>;
}

interface Shared {
  readonly journal: SqliteJournal;
  users: number;
}

/** Runs of one process share a directory's journal while they last, and so its commits. */
const open = new Map<string, Shared>();

/** For a run that is on record: a misspelt directory is not made, and an approval is not left where nobody looks. */
export function checkOnRecord(given: unknown): void {
  checkGiven(given);
  if (typeof given !== "string" || existsSync(given)) return;
  const expected = "the directory that the run was recorded in; there is none of that name";
  throw new InvalidValueError({ field: "journal", value: given, expected });
}

/** Without one there is nothing to look into, and "no runs" would be a wrong answer. */
export function checkGiven(given: unknown): void {
  if ((typeof given === "string" && given !== "") || (typeof given === "object" && given !== null)) return;
  const expected = "the directory of a journal, or an open one";
  throw new InvalidValueError({ field: "journal", value: given, expected });
}

/** A directory is opened here, and closed when its last run is over; a journal of the user's own stays open. */
export function borrowJournal(
  given: string | Journal | undefined,
  clock: Clock | undefined,
): BorrowedJournal {
  if (typeof given !== "string") {
    return { journal: given, directory: undefined, giveBack: async () => {} };
  }
  if (clock !== undefined) {
    // Claims lapse by the clock that a journal was opened with, so this one is not for others.
    const journal = SqliteJournal.open(given, { clock });
    return { journal, directory: given, giveBack: () => journal.close() };
  }
  const path = resolve(given);
  const shared = sharedAt(path);
  shared.users++;
  return {
    journal: shared.journal,
    directory: given,
    async giveBack() {
      shared.users--;
      if (shared.users > 0) return;
      if (open.get(path) === shared) open.delete(path);
      await shared.journal.close();
    },
  };
}

/** One that has failed for good (a full disk) is left to those who have it: whoever comes next begins anew. */
function sharedAt(path: string): Shared {
  const known = open.get(path);
  if (known !== undefined && !known.journal.isFailed) return known;
  const shared = { journal: SqliteJournal.open(path), users: 0 };
  open.set(path, shared);
  return shared;
}
