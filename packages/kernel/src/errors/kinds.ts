/** The kinds of provider failures. */
export const ErrorKind = Object.freeze({
  RATE_LIMIT: "RATE_LIMIT",
  OVERLOADED: "OVERLOADED",
  SERVER_ERROR: "SERVER_ERROR",
  TIMEOUT: "TIMEOUT",
  CONTEXT_OVERFLOW: "CONTEXT_OVERFLOW",
  UNKNOWN: "UNKNOWN",
  AUTH: "AUTH",
  AUTH_PERMANENT: "AUTH_PERMANENT",
  BILLING: "BILLING",
  MODEL_NOT_FOUND: "MODEL_NOT_FOUND",
  CONTENT_BLOCKED: "CONTENT_BLOCKED",
  FORMAT_ERROR: "FORMAT_ERROR",
} as const);
export type ErrorKind = (typeof ErrorKind)[keyof typeof ErrorKind];

const RETRYABLE: ReadonlySet<ErrorKind> = new Set([
  ErrorKind.RATE_LIMIT,
  ErrorKind.OVERLOADED,
  ErrorKind.SERVER_ERROR,
  ErrorKind.TIMEOUT,
  ErrorKind.CONTEXT_OVERFLOW,
  ErrorKind.UNKNOWN,
]);

/** Whether a retry can help after a failure of this kind. */
export function isRetryableKind(kind: ErrorKind): boolean {
  return RETRYABLE.has(kind);
}
