import type { PendingWait } from "@ravi/kernel";
import type { Recording } from "../engine/recording.ts";
import { changeIn } from "../journal/facts/noted-waits.ts";
import { RUN_STATUS, RUN_WAITS } from "../journal/facts/run-facts.ts";

/** A time that is on record. Epoch milliseconds. */
export interface Interval {
  readonly since: number;
  /** Undefined if it was not over when the run broke off. */
  readonly until: number | undefined;
}

/** A wait for an answer from outside. */
export interface Wait extends Interval, Pick<PendingWait, "execId"> {}

/** The waits for answers from outside that a run has noted. */
export function recordedWaits(recording: Recording): readonly Wait[] {
  const begun = new Map<string, PendingWait>();
  const over = new Map<string, number>();
  for (const { key, body, at } of recording.records) {
    const change = key === RUN_WAITS ? changeIn(body) : undefined;
    for (const id of change?.over ?? []) over.set(id, at);
    for (const [id, text] of change?.begun ?? []) {
      begun.set(id, JSON.parse(text) as PendingWait);
      over.delete(id);
    }
  }
  return [...begun].flatMap(([id, { execId, since, kind }]) => {
    if (kind !== "signal" && kind !== "approval") return [];
    // The answer is recorded under the key of the wait.
    const answered = recording.of(execId).steps.get(id.slice(execId.length + 1))?.end?.at;
    return [{ execId, since, until: answered ?? over.get(id) }];
  });
}

/** The times in which no process had the run, until one continued it: it was suspended, it had failed, or its process had died. */
export function recordedRests({ records, aliveUntil }: Recording): readonly Interval[] {
  const found: Interval[] = [];
  /** The time of the newest entry so far: whoever wrote it was alive. */
  let last = 0;
  let since: number | undefined;
  for (const { key, body, at } of records) {
    if (key === RUN_STATUS) {
      const { status, aliveUntil: died } = body;
      if (typeof died === "number") since ??= Math.max(died, last);
      if (since !== undefined) found.push({ since, until: at });
      since = status === "suspended" || status === "failed" ? at : undefined;
    }
    last = Math.max(last, at);
  }
  if (aliveUntil !== undefined) since ??= Math.max(aliveUntil, last);
  if (since !== undefined) found.push({ since, until: undefined });
  return found;
}

/** How much of the time from `from` to `to` is in at least one of them. */
export function lengthOf(intervals: readonly Interval[], from: number, to: number): number {
  let length = 0;
  let covered = from;
  for (const { since, until = to } of intervals.toSorted((a, b) => a.since - b.since)) {
    const start = Math.max(since, covered);
    const end = Math.min(until, to);
    if (end <= start) continue;
    length += end - start;
    covered = end;
  }
  return length;
}
