import { ErrorCode } from "./code.ts";
import { show } from "./show.ts";
import { errorToJSON, type SerializedError } from "./to-json.ts";

export { ErrorCode } from "./code.ts";

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
    if (typeof options !== "object" || options === null) throw refused(options);
    super(options.message, options.cause === undefined ? undefined : { cause: options.cause });
    Object.defineProperty(this, "name", { value: nameOf(new.target), writable: true, configurable: true });
    this.code = options.code;
    this.retryable = options.retryable ?? false;
  }

  /** Without it `JSON.stringify` loses the message, as of any error. */
  toJSON(): SerializedError {
    return errorToJSON(this);
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    if (!Object.hasOwn(this, "codes")) return Function.prototype[Symbol.hasInstance].call(this, value);
    return isMarked(value) && this.codes.includes(value.code);
  }
}

/** What `InvalidValueError` says, which is built on this file and cannot be used in it. */
function refused(value: unknown): RaviError {
  const fields = {
    field: "what new RaviError was given",
    value: show(value),
    expected: "an object with code, message",
  };
  const message = `${fields.field} is ${fields.value}; expected ${fields.expected}`;
  return Object.assign(new RaviError({ code: ErrorCode.INVALID_VALUE, message }), fields);
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

export function isMarked(value: unknown): value is RaviError {
  if (typeof value !== "object" || value === null) return false;
  try {
    return Reflect.get(value, "isRaviError") === true && typeof Reflect.get(value, "code") === "string";
  } catch {
    // Anything can be thrown, also an object that throws when it is looked at. It is none of ours.
    return false;
  }
}
