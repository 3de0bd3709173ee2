/** The codes of all Ravi errors. Branch on the code, never on the message. */
export const ErrorCode = Object.freeze({
  CANCELLED: "CANCELLED",
  DEADLINE_EXCEEDED: "DEADLINE_EXCEEDED",
  PAUSED: "PAUSED",
  SUSPENDED: "SUSPENDED",
  BUDGET_EXHAUSTED: "BUDGET_EXHAUSTED",
  MIDDLEWARE_TERMINATION: "MIDDLEWARE_TERMINATION",
  MIDDLEWARE_ERROR: "MIDDLEWARE_ERROR",
  PROVIDER_ERROR: "PROVIDER_ERROR",
  TOOL_ERROR: "TOOL_ERROR",
  INVALID_VALUE: "INVALID_VALUE",
  AGENT_NOT_FOUND: "AGENT_NOT_FOUND",
  NON_DETERMINISM: "NON_DETERMINISM",
  LANE_VIOLATION: "LANE_VIOLATION",
  NEEDS_DECISION: "NEEDS_DECISION",
  JOURNAL_LOCKED: "JOURNAL_LOCKED",
  JOURNAL_CORRUPT: "JOURNAL_CORRUPT",
  JOURNAL_FAILED: "JOURNAL_FAILED",
} as const);
export type ErrorCode = (typeof ErrorCode)[keyof typeof ErrorCode];

const BASE_FIELDS = new Set([
  "isRaviError",
  "code",
  "retryable",
  "name",
  "message",
  "stack",
  "cause",
  "toJSON",
  "__proto__",
]);

/** Whether `key` is a field that an error class adds to those of the base class. */
export function isOwnField(key: string): boolean {
  return !BASE_FIELDS.has(key) && !(key in Object.prototype);
}
