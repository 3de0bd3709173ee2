import type { Clock, RunId } from "@ravi/kernel";
import type { PrunePlan } from "../retention.ts";
import type { Items } from "./items.ts";
import type { Runs } from "./runs.ts";

/** At most so many runs are deleted in one transaction. */
const RUNS_AT_ONCE = 100;

/** No further run is deleted in a transaction once it has deleted so many bytes, which takes a few hundredths of a second. */
const BYTES_AT_ONCE = 8_000_000;

export interface PruneParts {
  readonly runs: Runs;
  readonly items: Items;
  readonly clock: Clock;
  /** Runs `act` in a transaction. */
  readonly write: <T>(act: () => T) => Promise<T>;
  /** Deletes a run, and gives its size in bytes. */
  readonly remove: (runId: RunId) => number;
}

/**
 * Deletes runs, and what was posted to runs that never were. It takes several transactions, so that other writers, here and in other
 * processes, wait for one of them and not for all.
 */
export async function prune(parts: PruneParts, plan: PrunePlan, now: number): Promise<readonly RunId[]> {
  const { runs, items, write } = parts;
  const old = await write(() => runs.prunable(plan, now));
  const deleted: RunId[] = [];
  for (let at = 0; at < old.length;) {
    const part = await write(() => pruneSome(parts, plan, old, at));
    deleted.push(...part.deleted);
    at = part.next;
  }
  await write(() => {
    for (const runId of items.orphansBefore(plan.before)) items.delete(runId);
  });
  return deleted;
}

/** Deletes as many as fit into one transaction, at least one, however large. `next` is where to continue. */
function pruneSome(
  { runs, clock, remove }: PruneParts,
  plan: PrunePlan,
  old: readonly RunId[],
  from: number,
): { readonly deleted: readonly RunId[]; readonly next: number } {
  const now = clock.now();
  const deleted: RunId[] = [];
  let next = from;
  let bytes = 0;
  for (const runId of old.slice(from, from + RUNS_AT_ONCE)) {
    if (bytes >= BYTES_AT_ONCE) break;
    next++;
    // It may have been resumed meanwhile.
    if (!runs.isPrunable(runId, plan, now)) continue;
    bytes += remove(runId);
    deleted.push(runId);
  }
  return { deleted, next };
}
