import { type JournalRecord, RunId } from "@ravi/kernel";
import { MemoryJournal } from "@ravi/runtime";

/** A journal in the state in which a crash right after these entries leaves it. */
export function cutJournal(runId: string, records: readonly JournalRecord[]): MemoryJournal {
  const journal = new MemoryJournal();
  const claim = journal.claim(RunId(runId), "crashed", 1);
  if (claim === null) throw new Error("a fresh journal is not free");
  journal.append(
    RunId(runId),
    claim.epoch,
    records.map(({ exec, key, attempt, phase, at, body }) => ({ exec, key, attempt, phase, at, body })),
  );
  journal.release(RunId(runId), claim.epoch);
  return journal;
}
