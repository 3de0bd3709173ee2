import { Runtime, SqliteJournal } from "@ravi/runtime";

/** Calls `act` with the open journal, and closes it. */
export async function within<R>(journal: string, act: (open: SqliteJournal) => Promise<R>): Promise<R> {
  return using(SqliteJournal.open(journal), act);
}

/** The same to look at it: also where it cannot be written. */
export async function lookingAt<R>(journal: string, act: (open: SqliteJournal) => Promise<R>): Promise<R> {
  return using(SqliteJournal.open(journal, { readOnly: "ifNeeded" }), act);
}

async function using<R>(open: SqliteJournal, act: (open: SqliteJournal) => Promise<R>): Promise<R> {
  try {
    return await act(open);
  } finally {
    await open.close();
  }
}

/** The process that has a run, in words; undefined if none has it. Its record is not read, since it may be long, or damaged. */
export function holderOf(journal: string, runId: string): Promise<string | undefined> {
  return within(journal, async (open) => (await new Runtime({ journal: open }).holder(runId))?.owner);
}
