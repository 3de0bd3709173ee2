import type { Journal, JournalRecord, RunId, RunStatus, RunSummary } from "@ravi/kernel";
import { factsOf } from "./run-facts.ts";

/** The status of a run on record; undefined if it has not begun. Its entries are not read if the journal has summaries. */
export async function recordedStatus(journal: Journal, runId: RunId): Promise<RunStatus | undefined> {
  if (journal.summary !== undefined) {
    const run = await journal.summary(runId);
    if (run === undefined || run.entries > 0) return run?.status;
  }
  // One that is listed without entries is claimed and did not begin, or is damaged: then `load` throws.
  return statusIn(runId, await journal.load(runId));
}

/** What `list` shows of a run on record; undefined if it is not there. */
export async function summaryOf(journal: Journal, runId: RunId): Promise<RunSummary | undefined> {
  if (journal.summary !== undefined) return journal.summary(runId);
  return (await journal.list()).find((each) => each.runId === runId);
}

function statusIn(runId: RunId, records: readonly JournalRecord[]): RunStatus | undefined {
  let status: RunStatus | undefined;
  for (const { exec, key, attempt, phase, at, body } of records) {
    status = factsOf(runId, [[exec, key, attempt, phase, at, body]])?.status ?? status ?? "running";
  }
  return status;
}
