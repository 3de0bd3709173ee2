import type { Clock, ExecutionBudgetOptions } from "@ravi/kernel";
import type { ExecutionTracker } from "./tracker.ts";
import type { WrapUpReserve } from "./wrap-up.ts";

export interface ExecutionTrackerOptions {
  /** The ledger above: everything spent here is also spent there, and in all ledgers above it. Default: none. */
  readonly parent?: ExecutionTracker | undefined;
  /** The name of the budget's owner in errors and warnings. Default: "budget". */
  readonly scope?: string | undefined;
  /** Dates the snapshots. Default: the parent's clock, or the system's. */
  readonly clock?: Clock | undefined;
  /** The fraction of a limit at which a warning is given, above 0 and up to 1. Default: the parent's, or 0.8. */
  readonly warnAt?: number | undefined;
  /** What is held back for the last turn; see `WrapUpReserve`. Default: by rule, or nothing if the parent's is `false`. */
  readonly reserve?: WrapUpReserve | undefined;
  /**
   * Set it if this ledger is a second limit on the parent's own agent, not a helper's: the agent's last turn may then also use
   * the parent's reserve. Default: false.
   */
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
   * What happens to reservations that were open in the snapshot. "charge" (default): their calls may have been paid for, so they count as
   * spent and are listed in `inDoubt`. "keep": they stay open, and `reservation(id)` finds them.
   */
  readonly open?: "charge" | "keep" | undefined;
  /** Replaces the recorded budget, for a run that continues with more (or less). */
  readonly budget?: ExecutionBudgetOptions | undefined;
}

export const RESTORE_OPTIONS = [
  "parent",
  "clock",
  "open",
  "budget",
] as const satisfies readonly (keyof RestoreOptions)[];
