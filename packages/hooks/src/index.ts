/**
 * Observers of a run that can never change it: `HookManager`, and on top of it `CostTracker` and `RunLogger`; `EventRecorder`.
 *
 * This list is the public surface of the package; a test pins it.
 *
 * @packageDocumentation
 */

export { HookEvent } from "@ravi/kernel";
export { type CostReport, CostTracker, type CostTrackerOptions } from "./cost-tracker.ts";
export {
  EventRecorder,
  type EventRecorderOptions,
  type RecordedEvent,
  type RecordedMetric,
  type RecordedSpan,
} from "./event-recorder.ts";
export { HookManager, type HookManagerOptions } from "./hook-manager.ts";
export { type RunLogEntry, RunLogger, type RunLoggerOptions } from "./run-logger.ts";
export type { CostTally } from "./tally.ts";
export type {
  AnyHookCallback,
  HookCallback,
  HookNotice,
  HookProblem,
  HookProblemKind,
  HookSource,
} from "./types.ts";
