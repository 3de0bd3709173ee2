import { type ClassifiedError, type ErrorKind, isRaviError } from "@ravi/kernel";

// What a failed call can have cost. Where the provider refused it, or it was never sent, nothing but the turn.

/** Kinds of errors that a provider reports before it works. */
const UNPAID: ReadonlySet<ErrorKind> = new Set([
  "RATE_LIMIT",
  "AUTH",
  "AUTH_PERMANENT",
  "BILLING",
  "MODEL_NOT_FOUND",
  "CONTEXT_OVERFLOW",
]);

/**
 * Whether the provider refused the call before it did any work. Not every client tells the status; without it the kind decides,
 * unless the error came in the middle of an answer, after work that may be charged for.
 */
export function isRefusal(
  error: unknown,
  { status, kind }: Pick<ClassifiedError, "status" | "kind">,
  hasStreamed: boolean,
): boolean {
  if (status !== undefined) return status >= 400;
  return !hasStreamed && (UNPAID.has(kind) || isUnsent(error));
}

/** A mistake in the program, or a refusal of our own: nothing was sent. A `fetch failed` is a TypeError too, but has a cause. */
export function isProgramError(error: unknown): boolean {
  return (
    (error instanceof TypeError && error.cause === undefined) ||
    isRaviError(error, "INVALID_VALUE") ||
    isRaviError(error, "BUDGET_EXHAUSTED")
  );
}

/** There was no connection yet. Others (`ECONNRESET`, `ETIMEDOUT`) may also come when the request has been read. */
const BEFORE_CONNECTION: ReadonlySet<unknown> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "UND_ERR_CONNECT_TIMEOUT",
]);

/** Deeper than clients wrap what happened. */
const MOST_CAUSES = 8;

/** Whether the request has certainly not left this machine, so that nobody can have charged for it. */
function isUnsent(error: unknown): boolean {
  let at = error;
  for (let depth = 0; at instanceof Error && depth < MOST_CAUSES; depth++) {
    if ("code" in at && BEFORE_CONNECTION.has(at.code)) return true;
    at = at.cause;
  }
  return false;
}
