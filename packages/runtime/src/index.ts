/// <reference lib="esnext.disposable" preserve="true" />
/**
 * `Runtime` runs agents in one process and resumes them after a crash; `SqliteJournal` and `MemoryJournal` record their runs.
 *
 * This list is the public surface of the package; a test pins it.
 *
 * @packageDocumentation
 */

export { createRunContext } from "./create-run-context.ts";
export type { Decision, Decisions } from "@ravi/kernel/loop";
export { MemoryJournal, type MemoryJournalOptions } from "./journal/memory-journal.ts";
export type { PruneOptions } from "./journal/retention.ts";
export { SqliteJournal, type SqliteJournalOptions } from "./journal/sqlite-journal.ts";
export type { RuntimePorts } from "./ports.ts";
export type { RunOptions } from "./run-start.ts";
export {
  type DeliverOptions,
  type ResumeOptions,
  Runtime,
  type CloseOptions,
  type RuntimeOptions,
  type SendOptions,
} from "./runtime.ts";
export type { RecordedCall, RunHolder, RunReport } from "@ravi/kernel";
export { getRunScope } from "./scope.ts";
export { wallClock } from "./wall-clock.ts";
