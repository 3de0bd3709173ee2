import type { Clock, ExecutionBudgetOptions } from "@ravi/kernel";
import type { ExecutionTracker } from "./tracker.ts";
import type { WrapUpReserve } from "./wrap-up.ts";

export interface ExecutionTrackerOptions {
  /** All that is spent here is spent there as well, and above it. */
  readonly parent?: ExecutionTracker | undefined;
  /** Whose budget it is, for errors and warnings. Default "budget". */
  readonly scope?: string | undefined;
  /** Default: the parent's, or the system's. It dates snapshots. */
  readonly clock?: Clock | undefined;
  /** At which part of a limit a warning is given. Default 0.8, or the parent's. */
  readonly warnAt?: number | undefined;
  /** What is held back for the last turn; see `WrapUpReserve`. Default: by rule, or nothing where the parent says `false`. */
  readonly reserve?: WrapUpReserve | undefined;
  /** A second limit on the parent's own agent, not a helper of it: the agent's wrap-up may take the parent's reserve too. */
  readonly sameAgent?: boolean | undefined;
}

export const TRACKER_OPTIONS = [
  "parent",
  "scope",
  "clock",
  "warnAt",
  "reserve",
  "sameAgent",
] as const satisfies readonly (keyof ExecutionTrackerOptions)[];

/** Those that a ledger below another may have for itself. */
export const CHILD_OPTIONS = [
  "clock",
  "warnAt",
  "reserve",
  "sameAgent",
] as const satisfies readonly (keyof ExecutionTrackerOptions)[];

export interface RestoreOptions extends Pick<ExecutionTrackerOptions, "parent" | "clock"> {
  /**
   * What becomes of reservations that were open. "charge" (default): their calls may have been paid for, so they count as
   * spent and are listed in `inDoubt`. "keep": they go on and are found by `reservation(id)`.
   */
  readonly open?: "charge" | "keep" | undefined;
  /** Another budget than the recorded one, for a run that goes on with more (or less). */
  readonly budget?: ExecutionBudgetOptions | undefined;
}

export const RESTORE_OPTIONS = [
  "parent",
  "clock",
  "open",
  "budget",
] as const satisfies readonly (keyof RestoreOptions)[];
