import { ErrorCode, InvalidValueError, JournalFailedError, RaviError } from "@ravi/kernel";

// The names are literals, because a minifier renames classes and the name is stored with an error.

/** Another process or agent has the session open for writing. Nothing was read or written. */
export class SessionLockedError extends RaviError {
  static override readonly name = "SessionLockedError";
  override readonly code = ErrorCode.JOURNAL_LOCKED;
  readonly sessionId: string;
  /** The same as `sessionId`: other errors with this code name what is locked in this field. */
  readonly runId: string;
  /** Who has it open. */
  readonly owner: string;
  /** In how many milliseconds its lock expires unless it is renewed. Undefined if it does not expire. */
  readonly expiresInMs: number | undefined;
  constructor(init: {
    sessionId: string;
    owner: string;
    hint?: string | undefined;
    expiresInMs?: number | undefined;
  }) {
    const hint = init.hint ?? "close it there first, or open another session";
    super({
      code: ErrorCode.JOURNAL_LOCKED,
      message: `session ${init.sessionId} is open for writing by ${init.owner}; ${hint}`,
    });
    this.sessionId = init.sessionId;
    this.runId = init.sessionId;
    this.owner = init.owner;
    this.expiresInMs = init.expiresInMs;
  }
}

/** The file of a session was changed or damaged. It was not modified by this error. */
export class SessionCorruptError extends RaviError {
  static override readonly name = "SessionCorruptError";
  override readonly code = ErrorCode.JOURNAL_CORRUPT;
  readonly sessionId: string;
  /** The same as `sessionId`, as in other errors with this code. */
  readonly runId: string;
  /** Counts from 1; the header is line 1. 0 if only the position is known. */
  readonly line: number;
  /** The byte offset of the line's start. */
  readonly position: number;
  constructor(init: { sessionId: string; line: number; position: number; problem: string; cause?: unknown }) {
    const where = `${init.line === 0 ? "" : `line ${init.line}, `}byte ${init.position}`;
    super({
      code: ErrorCode.JOURNAL_CORRUPT,
      message: `session ${init.sessionId} is damaged at ${where}: ${init.problem}; restore the file from a copy, or delete that line and everything after it`,
      cause: init.cause,
    });
    this.sessionId = init.sessionId;
    this.runId = init.sessionId;
    this.line = init.line;
    this.position = init.position;
  }
}

/** The error for a failed file operation. The operation was undone, so it can be tried again. */
export function sessionFailed(sessionId: string, done: string, cause: unknown): JournalFailedError {
  return new JournalFailedError({ what: `session ${sessionId} could not be ${done}`, final: false, cause });
}

/** An operation that needs an idle session was called while it was busy. */
export class SessionBusyError extends InvalidValueError {
  static override readonly name = "SessionBusyError";
  constructor(init: { operation: string; phase: string }) {
    super({
      field: "SessionAgent.phase",
      value: init.phase,
      expected: `idle, for ${init.operation}; wait with waitForIdle(), or send a message to the running turn with steer() or followUp()`,
    });
  }
}
