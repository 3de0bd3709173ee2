import { checkFields, checkInteger, type RunId, type RunStatus, type RunSummary } from "@ravi/kernel";

/** How many runs are deleted at the same time. */
const TOGETHER = 20;
const ENDED: readonly RunStatus[] = ["completed", "partial", "failed", "cancelled"];

/** The time before which a run must have ended. Throws an `InvalidValueError` if the options are wrong. */
export function pruneBefore(options: { readonly olderThanMs: number }, now: number): number {
  const { olderThanMs } = checkFields("prune options", options, ["olderThanMs"]);
  return now - checkInteger("prune options.olderThanMs", olderThanMs, 0);
}

/**
 * Deletes the runs that ended before that time, and returns their ids. Throws the first error after all others were tried, or as soon as
 * none of several could be deleted: then it is the server that fails.
 */
export async function pruneRuns(
  runs: readonly RunSummary[],
  before: number,
  forget: (runId: RunId) => Promise<void>,
): Promise<RunId[]> {
  const over = runs.filter(({ status, updatedAt }) => ENDED.includes(status) && updatedAt < before);
  const failures: unknown[] = [];
  for (let at = 0; at < over.length; at += TOGETHER) {
    const some = over.slice(at, at + TOGETHER);
    const tried = await Promise.allSettled(some.map(({ runId }) => forget(runId)));
    const failed = tried.flatMap((one) => (one.status === "rejected" ? [one.reason as unknown] : []));
    failures.push(...failed);
    if (failed.length === some.length) break;
  }
  if (failures.length > 0) throw failures[0];
  return over.map(({ runId }) => runId);
}
