import { ErrorCode, InvalidValueError, JournalFailedError, RaviError } from "@ravi/kernel";

// Their names are texts, because a minifier renames classes, and the name is written down with an error.

/** Somebody else writes to the session. Nothing was read or written. */
export class SessionLockedError extends RaviError {
  static override readonly name = "SessionLockedError";
  override readonly code = ErrorCode.JOURNAL_LOCKED;
  readonly sessionId: string;
  /** The field by which other errors of this code say what is locked. */
  readonly runId: string;
  readonly owner: string;
  constructor(init: { sessionId: string; owner: string; hint?: string | undefined }) {
    const hint = init.hint ?? "close it there first, or open another session";
    super({
      code: ErrorCode.JOURNAL_LOCKED,
      message: `session ${init.sessionId} is open for writing by ${init.owner}; ${hint}`,
    });
    this.sessionId = init.sessionId;
    this.runId = init.sessionId;
    this.owner = init.owner;
  }
}

/** A session's file is not as it was written. Nothing of it was changed. */
export class SessionCorruptError extends RaviError {
  static override readonly name = "SessionCorruptError";
  override readonly code = ErrorCode.JOURNAL_CORRUPT;
  readonly sessionId: string;
  readonly runId: string;
  /** Counts from 1; the header is line 1. */
  readonly line: number;
  /** The line's first byte. */
  readonly position: number;
  constructor(init: { sessionId: string; line: number; position: number; problem: string; cause?: unknown }) {
    const where = `line ${init.line}, byte ${init.position}`;
    super({
      code: ErrorCode.JOURNAL_CORRUPT,
      message: `session ${init.sessionId} is damaged at ${where}: ${init.problem}; restore the file, or cut it off before that line and lose what follows`,
      cause: init.cause,
    });
    this.sessionId = init.sessionId;
    this.runId = init.sessionId;
    this.line = init.line;
    this.position = init.position;
  }
}

/** The disk said no. What was done of it was taken back, so it can be tried again. */
export function sessionFailed(sessionId: string, done: string, cause: unknown): JournalFailedError {
  return new JournalFailedError({ what: `session ${sessionId} could not be ${done}`, final: false, cause });
}

/** Something was asked for that needs an idle session, while it works. */
export class SessionBusyError extends InvalidValueError {
  static override readonly name = "SessionBusyError";
  constructor(init: { operation: string; phase: string }) {
    super({
      field: "SessionAgent.phase",
      value: init.phase,
      expected: `idle, for ${init.operation}; wait for it with waitForIdle(), or speak to the running turn with steer() or followUp()`,
    });
  }
}
