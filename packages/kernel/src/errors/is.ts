import type { ErrorCode, RaviError } from "./base.ts";
import type {
  AgentNotFoundError,
  BudgetExhaustedError,
  CancellationError,
  DeadlineExceededError,
  InvalidValueError,
  JournalCorruptError,
  JournalFailedError,
  JournalLockedError,
  LaneViolationError,
  MiddlewareError,
  MiddlewareTermination,
  NeedsDecisionError,
  NonDeterminismError,
  PausedError,
  ProviderError,
  SuspendedError,
  ToolError,
} from "./errors.ts";

/** The error class of each code. */
export interface ErrorByCode {
  CANCELLED: CancellationError;
  DEADLINE_EXCEEDED: DeadlineExceededError;
  PAUSED: PausedError;
  SUSPENDED: SuspendedError;
  BUDGET_EXHAUSTED: BudgetExhaustedError;
  MIDDLEWARE_TERMINATION: MiddlewareTermination;
  MIDDLEWARE_ERROR: MiddlewareError;
  PROVIDER_ERROR: ProviderError;
  TOOL_ERROR: ToolError;
  INVALID_VALUE: InvalidValueError;
  AGENT_NOT_FOUND: AgentNotFoundError;
  NON_DETERMINISM: NonDeterminismError;
  LANE_VIOLATION: LaneViolationError;
  NEEDS_DECISION: NeedsDecisionError;
  JOURNAL_LOCKED: JournalLockedError;
  JOURNAL_CORRUPT: JournalCorruptError;
  JOURNAL_FAILED: JournalFailedError;
}

/** Any Ravi error, as a union by code: in a `switch (error.code)` TypeScript knows the fields of each. */
export type AnyRaviError = { [C in ErrorCode]: ErrorByCode[C] & { readonly code: C } }[ErrorCode];

/** Whether it is a Ravi error and, if a code is given, has that code. */
export function isRaviError(error: unknown): error is AnyRaviError;
export function isRaviError<C extends ErrorCode>(error: unknown, code: C): error is ErrorByCode[C];
export function isRaviError(error: unknown, code?: ErrorCode): boolean {
  return isMarked(error) && (code === undefined || error.code === code);
}

/** Whether the error is a cancellation or a passed deadline. */
export function isCancellation(error: unknown): error is CancellationError {
  return isMarked(error) && (error.code === "CANCELLED" || error.code === "DEADLINE_EXCEEDED");
}

/** Whether the value is an error of any copy of the kernel. */
export function isMarked(value: unknown): value is RaviError {
  if (typeof value !== "object" || value === null) return false;
  try {
    return Reflect.get(value, "isRaviError") === true && typeof Reflect.get(value, "code") === "string";
  } catch {
    // Anything can be thrown, even an object whose getters throw. That is not an error of ours.
    return false;
  }
}
