import type { Journal, JournalRecord, PendingWait, RunId } from "@ravi/kernel";
import { NO_WAITS, NotedWaits } from "./noted-waits.ts";
import { openWaits } from "./open-waits.ts";
import { summaryOf } from "./recorded-status.ts";
import { factsOf } from "./run-facts.ts";

/** What a run waits for. Its entries are read only if the journal lists nothing: not every journal tells it. */
export async function waitsIn(journal: Journal, runId: RunId): Promise<readonly PendingWait[] | undefined> {
  const listed = (await summaryOf(journal, runId))?.waitingFor;
  return listed ?? waitsOnRecord(journal, runId, await journal.load(runId));
}

/**
 * What a run waits for by its entries, for a journal whose summaries do not tell it; undefined if it waits for nothing. What was posted is
 * read only if there is something to wait for.
 */
export async function waitsOnRecord(
  journal: Journal,
  runId: RunId,
  records: readonly JournalRecord[],
): Promise<readonly PendingWait[] | undefined> {
  let noted = new NotedWaits();
  for (const { exec, key, attempt, phase, at, body } of records) {
    for (const change of factsOf(runId, [[exec, key, attempt, phase, at, body]])?.waits ?? []) {
      if (change === NO_WAITS) noted = new NotedWaits();
      else noted.apply(change);
    }
  }
  const waits = JSON.parse(noted.text) as readonly PendingWait[];
  if (waits.length === 0) return undefined;
  const unread = (await journal.items(runId, noted.heard)).flatMap(({ kind, name }) => {
    if (kind === "cancel") return [null];
    return kind === "signal" ? [name] : [];
  });
  return openWaits(waits, unread);
}
