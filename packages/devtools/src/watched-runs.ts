import type { JsonValue, MaybePromise, RunEvent, RunReport, RunSummary } from "@ravi/kernel";

/** What the page shows: a `Runtime` with a journal, or anything else that can say this of its runs. */
export interface WatchedRuns {
  list(): MaybePromise<readonly RunSummary[]>;
  inspect(runId: string): MaybePromise<RunReport>;
  recordedEvents(runId: string): MaybePromise<readonly RunEvent[]>;
  deliver(
    runId: string,
    name: string,
    value: JsonValue,
    options: { readonly id: string; readonly mustWait: boolean },
  ): MaybePromise<void>;
  cancel(runId: string, reason: string): MaybePromise<void>;
}
