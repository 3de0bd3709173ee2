import {
  checkFields,
  type Clock,
  type Journal,
  type JsonValue,
  type RunEvent,
  type RunSummary,
} from "@ravi/kernel";
import { type DeliverOptions, Runtime } from "@ravi/runtime";
import { borrowJournal, borrowToLook, checkGiven, checkOnRecord, missingIn } from "./host/journals.ts";

/** Where the run is on record. */
export interface OutsideOptions {
  /** The directory or the journal that the run was recorded in. */
  readonly journal: string | Journal;
  /** Tells the time. Default: the real clock. */
  readonly clock?: Clock | undefined;
}

/**
 * Gives a run a value that it waits for, or will wait for: an approval, an answer. The run may be in another process, or not be
 * running at all. If the same value may be delivered twice, pass an `id`: a second call with the same `id` has no effect. A value
 * that comes early is kept, so a wrong `runId` is noticed only with `mustExist`, and a wrong `name` only with `mustWait`: then the call rejects with an
 * `InvalidValueError` if there is no such run, if it has ended, or with `mustWait` if it does not wait for that name now.
 */
export async function deliver(
  runId: string,
  name: string,
  value: JsonValue,
  options: OutsideOptions & DeliverOptions,
): Promise<void> {
  checkOutside(options, ["id", "mustExist", "mustWait"]);
  const { id, mustExist, mustWait } = options;
  return outside(options, (runtime) => runtime.deliver(runId, name, value, { id, mustExist, mustWait }));
}

/**
 * Cancels a run for good, in whatever process it is. If it is not running now, it ends as cancelled when it is next resumed,
 * without doing any more work.
 */
export async function cancel(runId: string, reason: string, options: OutsideOptions): Promise<void> {
  checkOutside(options);
  return outside(options, (runtime) => runtime.cancel(runId, reason));
}

/** Lists the runs on record: their status, and what they wait for. Where there is no journal yet, there are none, and none is created. */
export async function runs(options: OutsideOptions): Promise<readonly RunSummary[]> {
  checkFields("options", options, ["journal", "clock"]);
  checkGiven(options.journal);
  if (missingIn(options.journal) !== undefined) return [];
  return looking(options, (runtime) => runtime.list());
}

/**
 * What a run has done so far, in whatever process it is, as the events that `onEvent` gets: each answer as one text, and without what is
 * not on record (steps, progress, deltas). Later calls return the same events, and what is new after them.
 */
export async function recordedEvents(runId: string, options: OutsideOptions): Promise<readonly RunEvent[]> {
  checkOutside(options);
  return looking(options, (runtime) => runtime.recordedEvents(runId));
}

/** Throws if an option is not known, or if no journal is where the run is said to be on record. */
export function checkOutside(options: OutsideOptions, more: readonly string[] = []): void {
  checkFields("options", options, ["journal", "clock", ...more]);
  checkOnRecord(options.journal);
}

/** Calls a runtime that runs no agents and only accesses the journal. */
async function outside<R>(
  { journal, clock }: OutsideOptions,
  act: (runtime: Runtime) => Promise<R>,
  borrow: typeof borrowToLook = borrowJournal,
): Promise<R> {
  const borrowed = borrow(journal, clock);
  try {
    return await act(new Runtime({ journal: borrowed.journal, clock }));
  } finally {
    await borrowed.release();
  }
}

/** The same for calls that write nothing. */
export function looking<R>(options: OutsideOptions, act: (runtime: Runtime) => Promise<R>): Promise<R> {
  return outside(options, act, borrowToLook);
}
