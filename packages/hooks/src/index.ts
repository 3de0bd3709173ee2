// Observers of a run that can never change it. This list is the public surface; a test pins it.

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
