import { ErrorCode } from "../errors/code.ts";
import { errorToJSON, type SerializedError } from "../errors/to-json.ts";

/** Somebody decided to stop, or a restart would fail in the same way. */
const FINAL: ReadonlySet<ErrorCode> = new Set([
  // The layer around the model has already retried it, and a restart would multiply the two retry counts.
  ErrorCode.PROVIDER_ERROR,
  // A mistake in the set-up, such as a missing key, would be the same after a restart.
  ErrorCode.INVALID_VALUE,
  ErrorCode.CANCELLED,
  ErrorCode.DEADLINE_EXCEEDED,
  ErrorCode.BUDGET_EXHAUSTED,
  ErrorCode.MIDDLEWARE_TERMINATION,
  ErrorCode.PAUSED,
  ErrorCode.SUSPENDED,
  ErrorCode.NEEDS_DECISION,
  ErrorCode.NON_DETERMINISM,
  ErrorCode.JOURNAL_CORRUPT,
  ErrorCode.JOURNAL_LOCKED,
]);

/**
 * Whether a restart of what failed makes no sense. Also looks at the causes: a provider's failure wrapped in a plain `Error` is
 * still final. It decides by the serialized error, which is all that a journal keeps, so that a replayed run decides the same.
 */
export function isFinalFailure(error: unknown): boolean {
  for (let at: SerializedError | null = errorToJSON(error); at !== null; at = at.cause) {
    if (at.code !== null && FINAL.has(at.code)) return true;
    // Not every failed write is final: a journal that failed once may succeed after a restart.
    if (at.code === ErrorCode.JOURNAL_FAILED && at.fields["final"] === true) return true;
  }
  return false;
}
