import { type ErrorCode, RaviError } from "@ravi/kernel";

/**
 * The store could not write. What was acknowledged before is safe; nothing of this group is. With `final`, the journal
 * takes nothing more until it is opened again, so that no run pays for a call which could not be recorded.
 */
export class JournalFailedError extends RaviError {
  readonly final: boolean;
  constructor(init: { what: string; final: boolean; cause: unknown }) {
    const why = init.cause instanceof Error ? init.cause.message : String(init.cause);
    const next = init.final
      ? "no more is written; mend the cause, then open the journal again and resume its runs"
      : "nothing was written; try again";
    super({
      code: JOURNAL_FAILED,
      message: `${init.what}: ${why}; ${next}`,
      cause: init.cause,
      retryable: !init.final,
    });
    this.final = init.final;
  }
}

const code: string = "JOURNAL_FAILED";
const JOURNAL_FAILED = code as ErrorCode;
