import { ErrorCode } from "./code.ts";
import { isMarked } from "./is.ts";
import { show } from "./show.ts";
import { errorToJSON, type SerializedError } from "./to-json.ts";

export { ErrorCode } from "./code.ts";

/** What a `RaviError` is made of. */
export interface RaviErrorOptions {
  readonly code: ErrorCode;
  readonly message: string;
  /** Whether trying again can help. Default: false. */
  readonly retryable?: boolean | undefined;
  readonly cause?: unknown;
}

/**
 * The base class of all Ravi errors. `isRaviError` and `instanceof` recognise them by their fields, so they also work across copies of
 * the kernel, and after `errorFromJSON`.
 */
export class RaviError extends Error {
  /** The codes that `instanceof` accepts. A subclass without its own `codes` (a user's) is compared by prototype as usual. */
  static readonly codes: readonly ErrorCode[] = Object.values(ErrorCode);
  /** Marks an error of any copy of the kernel. */
  readonly isRaviError = true;
  /** What went wrong. Branch on this, not on the message. */
  readonly code: ErrorCode;
  /** Whether trying again can help. */
  readonly retryable: boolean;

  constructor(options: RaviErrorOptions) {
    if (typeof options !== "object" || options === null) throw refused(options);
    super(options.message, options.cause === undefined ? undefined : { cause: options.cause });
    Object.defineProperty(this, "name", { value: nameOf(new.target), writable: true, configurable: true });
    this.code = options.code;
    this.retryable = options.retryable ?? false;
  }

  /** Plain data of this error. Without it `JSON.stringify` would lose the message, as it does for any error. */
  toJSON(): SerializedError {
    return errorToJSON(this);
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    if (!Object.hasOwn(this, "codes")) return Function.prototype[Symbol.hasInstance].call(this, value);
    return isMarked(value) && this.codes.includes(value.code);
  }
}

/** The same as an `InvalidValueError`, which extends this class and so cannot be used here. */
function refused(value: unknown): RaviError {
  const fields = {
    field: "what new RaviError was given",
    value: show(value),
    expected: "an object with code, message",
  };
  const message = `${fields.field} is ${fields.value}; expected ${fields.expected}`;
  return Object.assign(new RaviError({ code: ErrorCode.INVALID_VALUE, message }), fields);
}

/** The names are spelt out because a minifier renames classes, and the name is stored with an error. */
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
  // A user's subclass has no codes of its own and keeps the name of its class.
  return Object.hasOwn(made, "codes") && code !== undefined ? NAMES[code] : made.name;
}
