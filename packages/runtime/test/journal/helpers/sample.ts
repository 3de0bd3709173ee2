import { ExecId, type JournalEntry, RunId } from "@ravi/kernel";
import { SqliteJournal } from "../../../src/journal/sqlite-journal.ts";

export const RUN = RunId("run-1");

export function entry(key: string, more: Partial<JournalEntry> = {}): JournalEntry {
  return {
    exec: ExecId(RUN),
    key,
    attempt: 1,
    phase: "begin",
    at: 1,
    body: { text: `body of ${key}` },
    ...more,
  };
}

/** A closed journal whose run has the entries k#1 … k#count, each in a row of its own. */
export async function written(directory: string, count: number, run: RunId = RUN): Promise<void> {
  const journal = SqliteJournal.open(directory);
  const claim = await journal.claim(run, "writer", 60_000);
  if (claim === null) throw new Error("claimed by somebody else");
  for (let n = 1; n <= count; n++) await journal.append(run, claim.epoch, [entry(`k#${n}`)]);
  await journal.release(run, claim.epoch);
  await journal.close();
}
