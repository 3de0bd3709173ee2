import { checkFields, type Clock, type Journal, type JsonValue, type RunSummary } from "@ravi/kernel";
import { Runtime } from "@ravi/runtime";
import { borrowJournal, checkGiven, checkOnRecord } from "./journals.ts";

/** Where the run is on record. */
export interface OutsideOptions {
  readonly journal: string | Journal;
  readonly clock?: Clock | undefined;
}

/**
 * Gives a run what it waits for, or will: an approval, an answer. The run may live in another process, or in none yet. Whoever may
 * say it twice says it under an `id`: the same one twice counts once.
 */
export async function deliver(
  runId: string,
  name: string,
  value: JsonValue,
  options: OutsideOptions & { readonly id?: string | undefined },
): Promise<void> {
  checkFields("options", options, ["journal", "clock", "id"]);
  const { id, journal, clock } = options;
  return outside({ journal, clock }, (runtime) => runtime.deliver(runId, name, value, { id }), checkOnRecord);
}

/** Ends a run for good, wherever it lives. One that rests is over when somebody resumes it, and does nothing more then. */
export function cancel(runId: string, reason: string, options: OutsideOptions): Promise<void> {
  return outside(options, (runtime) => runtime.cancel(runId, reason), checkOnRecord);
}

/** The runs on record, with how they stand. */
export function runs(options: OutsideOptions): Promise<readonly RunSummary[]> {
  return outside(options, (runtime) => runtime.list(), checkGiven);
}

/** A runtime that runs nothing: it only reaches into the journal. */
async function outside<R>(
  options: OutsideOptions,
  act: (runtime: Runtime) => Promise<R>,
  check: (journal: unknown) => void,
): Promise<R> {
  checkFields("options", options, ["journal", "clock"]);
  check(options.journal);
  const borrowed = borrowJournal(options.journal, options.clock);
  try {
    return await act(new Runtime({ journal: borrowed.journal, clock: options.clock }));
  } finally {
    await borrowed.giveBack();
  }
}
