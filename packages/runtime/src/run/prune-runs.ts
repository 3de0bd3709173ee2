import { isRaviError, type Journal, JournalFailedError, type RunId } from "@ravi/kernel";
import { isEnded } from "../journal/retention.ts";

/** Deletes that run together share a commit, which the disk has to confirm. */
const TOGETHER = 100;

/** Which runs are deleted. */
export interface Prunable {
  readonly endedBefore: number;
  /** Whether it is continued here, though it has ended. */
  readonly isLive: (this: void, runId: RunId) => boolean;
}

/**
 * Deletes the runs that ended before that time, and returns their ids. One that cannot be deleted keeps no other from it: then it throws a
 * `JournalFailedError` at the end.
 */
export async function pruneRuns(journal: Journal, { endedBefore, isLive }: Prunable): Promise<RunId[]> {
  const over = (await journal.list()).filter(
    ({ runId, status, updatedAt }) => isEnded(status) && updatedAt < endedBefore && !isLive(runId),
  );
  let deleted = 0;
  const failures: Failure[] = [];
  for (let at = 0; at < over.length; at += TOGETHER) {
    const before = deleted;
    const remove = async (runId: RunId): Promise<void> => {
      try {
        await journal.delete(runId);
        deleted++;
      } catch (cause) {
        failures.push({ runId, cause });
      }
    };
    await Promise.all(over.slice(at, at + TOGETHER).map(({ runId }) => remove(runId)));
    // A journal that deletes none of so many would make each of the others wait for nothing.
    if (deleted === before) break;
  }
  if (failures.length > 0) throw notDeleted(failures, `${deleted} of ${over.length}`);
  return over.map(({ runId }) => runId);
}

interface Failure {
  readonly runId: RunId;
  readonly cause: unknown;
}

function notDeleted(failures: readonly Failure[], count: string): JournalFailedError {
  const [first] = failures;
  const which =
    failures.length === 1
      ? `run ${first?.runId}`
      : `${failures.length} runs, the first of them ${first?.runId}`;
  const cause = first?.cause;
  const final = isRaviError(cause, "JOURNAL_FAILED") && !cause.retryable;
  const hint = `${count} runs were deleted; call prune again for the others`;
  return new JournalFailedError({ what: `journal.delete for ${which}`, final, cause, hint });
}
