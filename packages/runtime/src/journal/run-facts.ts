import type { JournalEntry, RunId, RunStatus } from "@ravi/kernel";

/**
 * How a journal knows what `list` says of a run, without understanding effects. The runtime notes, for the root execution
 * only (`exec` is the run's own id):
 *
 * - `run:start` with a body `{ agent: "name@version", … }`: who runs, and since when;
 * - `run:status` with a body `{ status, … }`, each time that it changes.
 *
 * Entries are unique, so further ones are numbered: `run:status#2`, or the same key with a higher attempt. Until the first
 * status is noted a started run is `running`, and a claimed one without entries `pending`. Notes of children, and bodies
 * of another shape, say nothing about the run.
 */
export interface RunFacts {
  readonly agent?: string;
  readonly status?: RunStatus;
  readonly startedAt?: number;
}

export const RUN_START = "run:start";
export const RUN_STATUS = "run:status";

const STATUSES: ReadonlySet<unknown> = new Set<RunStatus>([
  "pending",
  "running",
  "suspended",
  "completed",
  "partial",
  "failed",
  "cancelled",
]);

/** What is known after this note, or what was known before when it says nothing new. */
export function runFacts(
  runId: RunId,
  entry: JournalEntry,
  before: RunFacts | undefined,
): RunFacts | undefined {
  if (!entry.key.startsWith("run:") || (entry.exec as string) !== runId) return before;
  if (isKey(entry.key, RUN_START)) {
    const { agent } = entry.body;
    return {
      ...before,
      startedAt: entry.at,
      status: "running",
      ...(typeof agent === "string" ? { agent } : undefined),
    };
  }
  if (!isKey(entry.key, RUN_STATUS)) return before;
  const { status } = entry.body;
  return isStatus(status) ? { ...before, status } : before;
}

function isKey(key: string, name: string): boolean {
  return key === name || key.startsWith(`${name}#`);
}

function isStatus(value: unknown): value is RunStatus {
  return STATUSES.has(value);
}
