import { Runtime, SqliteJournal } from "@ravi/runtime";

/** Calls `act` with the open journal, and closes it. */
export async function within<R>(journal: string, act: (open: SqliteJournal) => Promise<R>): Promise<R> {
  const open = SqliteJournal.open(journal);
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
