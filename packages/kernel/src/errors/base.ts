/** Every error of Ravi has one of these codes. Branch on the code, never on the message. */
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

export interface RaviErrorOptions {
  readonly code: ErrorCode;
  readonly message: string;
  readonly retryable?: boolean | undefined;
  readonly cause?: unknown;
}

/** The one base of all errors. It is recognised by `isRaviError`, across copies of the kernel and after JSON. */
export class RaviError extends Error {
  /** Which codes `instanceof` goes by; a class without this field of its own (a user's subclass) goes by its prototype. */
  static readonly codes: readonly ErrorCode[] = Object.values(ErrorCode);
  /** The mark by which an error of any copy of the kernel is recognised. */
  readonly isRaviError = true;
  readonly code: ErrorCode;
  readonly retryable: boolean;

  constructor(options: RaviErrorOptions) {
    super(options.message, options.cause === undefined ? undefined : { cause: options.cause });
    Object.defineProperty(this, "name", { value: nameOf(new.target), writable: true, configurable: true });
    this.code = options.code;
    this.retryable = options.retryable ?? false;
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    if (!Object.hasOwn(this, "codes")) return Function.prototype[Symbol.hasInstance].call(this, value);
    return isMarked(value) && this.codes.includes(value.code);
  }
}

/** As texts, because a minifier renames classes, and the name is written down with an error. */
const NAMES: Readonly<Record<ErrorCode, string>> = Object.freeze({
  CANCELLED: "CancellationError",
  DEADLINE_EXCEEDED: "DeadlineExceededError",
  PAUSED: "PausedError",
  SUSPENDED: "SuspendedError",
  BUDGET_EXHAUSTED: "BudgetExhaustedError",
  MIDDLEWARE_TERMINATION: "MiddlewareTermination",
  MIDDLEWARE_ERROR: "MiddlewareError",
  PROVIDER_ERROR: "ProviderError",
  TOOL_ERROR: "ToolError",
  INVALID_VALUE: "InvalidValueError",
  AGENT_NOT_FOUND: "AgentNotFoundError",
  NON_DETERMINISM: "NonDeterminismError",
  LANE_VIOLATION: "LaneViolationError",
  NEEDS_DECISION: "NeedsDecisionError",
  JOURNAL_LOCKED: "JournalLockedError",
  JOURNAL_CORRUPT: "JournalCorruptError",
  JOURNAL_FAILED: "JournalFailedError",
});

function nameOf(made: typeof RaviError): string {
  if (made === RaviError) return "RaviError";
  const [code] = made.codes;
  // A user's subclass has no codes of its own: it is called as its author calls it.
  return Object.hasOwn(made, "codes") && code !== undefined ? NAMES[code] : made.name;
}

const BASE_FIELDS = new Set([
  "isRaviError",
  "code",
  "retryable",
  "name",
  "message",
  "stack",
  "cause",
  "__proto__",
]);

/** Whether `key` is a field that a kind of error adds to the base. */
export function isOwnField(key: string): boolean {
  return !BASE_FIELDS.has(key);
}

export function isMarked(value: unknown): value is RaviError {
  if (typeof value !== "object" || value === null) return false;
  try {
    return Reflect.get(value, "isRaviError") === true && typeof Reflect.get(value, "code") === "string";
  } catch {
    // Anything can be thrown, also an object that throws when it is looked at. It is none of ours.
    return false;
  }
}
