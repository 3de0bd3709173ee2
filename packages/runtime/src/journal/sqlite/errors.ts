import { isRaviError, JournalCorruptError, JournalFailedError } from "@ravi/kernel";

/** The primary result codes of SQLite that are distinguished here. Extended codes have them in their low byte. */
const BUSY = 5;
const NO_MEMORY = 7;
const READ_ONLY = 8;
const IO_ERROR = 10;
const CORRUPT = 11;
const FULL = 13;
const CANNOT_OPEN = 14;
const NOT_A_DATABASE = 26;

function resultCode(error: unknown): number | undefined {
  if (typeof error !== "object" || error === null || !("errcode" in error)) return undefined;
  return typeof error.errcode === "number" ? error.errcode & 0xff : undefined;
}

/** Another process holds the lock; a retry helps. */
export function isBusy(error: unknown): boolean {
  return resultCode(error) === BUSY;
}

/** SQLite itself found the file damaged. */
export function isDamaged(error: unknown): boolean {
  const code = resultCode(error);
  return code === CORRUPT || code === NOT_A_DATABASE;
}

/** The disk is full, which SQLite also reports as an error of the disk, or it has failed. */
export function isDiskFailure(error: unknown): boolean {
  const code = resultCode(error);
  return code === FULL || code === IO_ERROR;
}

/** The file, or its folder, must not be written. */
export function isReadOnly(error: unknown): boolean {
  return resultCode(error) === READ_ONLY;
}

/** The file does not begin as one of SQLite. */
export function isNoDatabase(error: unknown): boolean {
  return resultCode(error) === NOT_A_DATABASE;
}

/** The system ran out of a resource, such as open files. The file itself is not affected. */
export function isOutOfResources(error: unknown): boolean {
  const code = resultCode(error);
  return code === CANNOT_OPEN || code === NO_MEMORY;
}

/** The error for a failed read. */
export function readFailure(path: string, what: string, cause: unknown): Error {
  if (isRaviError(cause)) return cause;
  if (isBusy(cause))
    return new JournalFailedError({ what: `the journal ${path} is locked`, final: false, cause });
  if (isOutOfResources(cause))
    return new JournalFailedError({ what: `the journal ${path} could not be read`, final: false, cause });
  return damaged(what, 0, "the file cannot be read", cause);
}

/** The error for a place in a run's journal that is damaged. */
export function damaged(
  runId: string,
  position: number,
  problem: string,
  cause?: unknown,
): JournalCorruptError {
  return new JournalCorruptError({ runId, position, problem, cause });
}
