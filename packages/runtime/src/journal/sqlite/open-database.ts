import type * as Sqlite from "node:sqlite";
import { InvalidValueError, JournalFailedError } from "@ravi/kernel";
import { hasCode, makeFolders, messageOf } from "@ravi/kernel/loop";
import { nodeFiles, nodeModule, realNow } from "../parts/platform.ts";
import { isBusy, isDamaged, isDiskFailure, isNoDatabase, isReadOnly } from "./errors.ts";
import { APPLICATION_ID, FORMAT, SCHEMA } from "./schema.ts";

const FILE = "ravi.db";
/** How long opening waits for other processes that write, open the file, or recover it after a crash, at the same time. */
const OPEN_TIMEOUT_MS = 10_000;
/**
 * After opening, a statement waits this long inside SQLite, which blocks the process; `GroupCommit` then waits outside. A commit
 * holds the lock for about a millisecond, so most waits end here.
 */
const BUSY_TIMEOUT_MS = 10;

/**
 * Opens `ravi.db` in the directory. Creates both if needed, with modes 0700 and 0600, so that other users cannot read them. Throws
 * an `InvalidValueError`, or a `JournalFailedError` if another process keeps a new file locked or the disk is full: that one may be tried
 * again.
 */
export function openDatabase(directory: string, timeoutMs = OPEN_TIMEOUT_MS): Sqlite.DatabaseSync {
  // Loaded here: a runtime without a journal needs no SQLite, and some versions of Node warn when it is loaded.
  const { DatabaseSync } = nodeModule("node:sqlite");
  const path = prepareFile(directory);
  if (!isEmpty(path)) refuseStranger(path);
  let db: Sqlite.DatabaseSync | undefined;
  try {
    db = new DatabaseSync(path);
    db.exec(`PRAGMA busy_timeout = ${timeoutMs}`);
    setUp(db, path, timeoutMs);
    db.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    return db;
  } catch (error) {
    db?.close();
    if (error instanceof InvalidValueError) throw error;
    if (isBusy(error)) {
      const what = `the journal ${path} was locked by another process for ${timeoutMs} ms`;
      throw new JournalFailedError({ what, final: false, cause: error });
    }
    if (isDiskFailure(error)) throw diskFailure(path, error);
    // `accessSync` asks for the user who has started the process, which may act as another one.
    if (isReadOnly(error)) throw notWritable(directory, error);
    const what = isDamaged(error)
      ? "an undamaged SQLite database"
      : "a file, in a writable folder, that can be opened and written";
    throw new InvalidValueError({
      field: "journal",
      value: path,
      expected: `${what} (SQLite: ${messageOf(error)})`,
      cause: error,
    });
  }
}

function diskFailure(path: string, cause: unknown): JournalFailedError {
  const what = `the journal ${path} could not be opened`;
  const hint = "it needs a local disk with room; no run was changed, so try again when it has one";
  return new JournalFailedError({ what, final: false, cause, hint });
}

/**
 * Opens a `ravi.db` that is there, and that may lie where nothing can be written: on a disk or in a folder that is read-only. Throws an
 * `InvalidValueError`.
 */
export function openReadOnly(directory: string): Sqlite.DatabaseSync {
  const path = pathOf(directory);
  const refuse = (expected: string, cause: unknown): never => {
    throw new InvalidValueError({ field: "journal", value: path, expected, cause });
  };
  let db: Sqlite.DatabaseSync | undefined;
  try {
    if (isEmpty(path)) refuse("a Ravi journal; this file is empty", undefined);
    refuseStranger(path);
    db = connectReadOnly(path);
    if (isNew(db, path)) refuse("a Ravi journal; this database is empty", undefined);
    db.exec(`PRAGMA cell_size_check = ON; PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    return db;
  } catch (error) {
    db?.close();
    if (error instanceof InvalidValueError) throw error;
    return refuse(
      `a file that can be read; with its ${FILE}-wal, if there is one, it needs a folder that can be written (${messageOf(error)})`,
      error,
    );
  }
}

/**
 * A journal that was closed has no write-ahead log. SQLite would make one, even to read it, and where it cannot, it has to be told that
 * the file does not change. It does, or may, if there is a log.
 */
function connectReadOnly(path: string): Sqlite.DatabaseSync {
  const { DatabaseSync } = nodeModule("node:sqlite");
  return nodeFiles().existsSync(`${path}-wal`)
    ? new DatabaseSync(path, { readOnly: true })
    : connectImmutable(path);
}

/** Without locks, and without a write-ahead log. Nothing is written. */
function connectImmutable(path: string): Sqlite.DatabaseSync {
  const { DatabaseSync } = nodeModule("node:sqlite");
  const url = nodeModule("node:url").pathToFileURL(path);
  url.searchParams.set("immutable", "1");
  return new DatabaseSync(url, { readOnly: true });
}

/** Absolute: SQLite would read a path that begins with `file:` as a URL with options. */
function pathOf(directory: string): string {
  if (typeof directory !== "string" || directory.length === 0 || directory.includes("\0")) {
    throw new InvalidValueError({
      field: "directory",
      value: directory,
      expected: "the path of a directory, as a non-empty string",
    });
  }
  return nodeModule("node:path").resolve(directory, FILE);
}

/**
 * Never opens a file that is there, other than with SQLite: closing it would take off the locks that other journals of this process have on
 * it. The next process to close it would then take itself for the last one, and remove the write-ahead log to which they write.
 */
function prepareFile(directory: string): string {
  const path = pathOf(directory);
  const { accessSync, constants } = nodeFiles();
  try {
    makeFolders(directory, nodeFiles(), nodeModule("node:path"));
    makeFile(path);
    // SQLite would open a file that must not be written as one that is only read.
    accessSync(path, constants.R_OK | constants.W_OK);
    return path;
  } catch (cause) {
    if (hasCode(cause, "ENOSPC") || hasCode(cause, "EDQUOT")) throw diskFailure(path, cause);
    throw notWritable(directory, cause);
  }
}

function notWritable(directory: string, cause: unknown): InvalidValueError {
  const expected = `a directory in which ${FILE} can be created and written (${messageOf(cause)})`;
  return new InvalidValueError({ field: "directory", value: directory, expected, cause });
}

/** SQLite would make it readable for everybody. The files that it creates beside it get the mode of this one. */
function makeFile(path: string): void {
  const { existsSync, openSync, closeSync } = nodeFiles();
  try {
    closeSync(openSync(path, "ax", 0o600));
  } catch (error) {
    if (!hasCode(error, "EEXIST")) throw error;
    // A link to a file that is not there yet.
    if (!existsSync(path)) closeSync(openSync(path, "a", 0o600));
  }
}

interface Header {
  readonly format: number;
  readonly application: number;
}

function isEmpty(path: string): boolean {
  return nodeFiles().statSync(path).size === 0;
}

/**
 * Throws if the file certainly is no journal, or has another format. It is looked at as if it did not change, since SQLite would modify a
 * file that is not ours when it opens it. If it cannot be looked at so, opening it will say why.
 */
function refuseStranger(path: string): void {
  // SQLite takes it for an empty one.
  if (nodeFiles().statSync(path).size === 1) throw somethingElse(path, undefined);
  let db: Sqlite.DatabaseSync | undefined;
  try {
    db = connectImmutable(path);
    refuseForeign(path, headerOf(db));
  } catch (error) {
    if (error instanceof InvalidValueError) throw error;
    if (isNoDatabase(error)) throw somethingElse(path, error);
  } finally {
    db?.close();
  }
}

function somethingElse(path: string, cause: unknown): InvalidValueError {
  const expected =
    "a Ravi journal; this file is something else, so use another directory, or its beginning is damaged";
  return new InvalidValueError({ field: "journal", value: path, expected, cause });
}

function refuseForeign(path: string, header: Header): void {
  if (header.application === 0 && header.format === 0) return;
  if (header.application !== APPLICATION_ID) refuseOther(path);
  if (header.format !== FORMAT) {
    const expected = `format ${FORMAT}; another version of @ravi/runtime wrote this file, so use that version`;
    throw new InvalidValueError({ field: `the format of ${path}`, value: header.format, expected });
  }
}

function refuseOther(path: string): never {
  const expected = "a Ravi journal; this is another program's SQLite database, so use another directory";
  throw new InvalidValueError({ field: "journal", value: path, expected });
}

function setUp(db: Sqlite.DatabaseSync, path: string, timeoutMs: number): void {
  // Most files are not new. Then nothing is written, and nobody waits for other processes that write: this blocks the whole process.
  if (retryWhileBusy(timeoutMs, () => inTransaction(db, "BEGIN", () => isNew(db, path))))
    create(db, path, timeoutMs);
  // Changing the mode does not wait for locks by itself.
  const mode = retryWhileBusy(
    timeoutMs,
    () => db.prepare("PRAGMA journal_mode = WAL").get()?.["journal_mode"],
  );
  if (mode !== "wal") {
    const expected = `a local disk, on which SQLite can use a write-ahead log (its journal_mode is ${String(mode)})`;
    throw new InvalidValueError({ field: "journal", value: path, expected });
  }
  db.exec("PRAGMA synchronous = FULL; PRAGMA cell_size_check = ON");
  // The write-ahead log of a new journal is opened by the first read. Done here, where a failure to open it gets the right error.
  retryWhileBusy(timeoutMs, () => pragma(db, "user_version"));
}

/** Before the write-ahead log is switched on, so that the format is in the file itself from the start. */
function create(db: Sqlite.DatabaseSync, path: string, timeoutMs: number): void {
  retryWhileBusy(timeoutMs, () =>
    inTransaction(db, "BEGIN IMMEDIATE", () => {
      // Another process may have created it meanwhile.
      if (!isNew(db, path)) return;
      db.exec(SCHEMA);
      db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${FORMAT}`);
    }),
  );
}

/** What is read in one transaction is of one moment, also while another process creates the file. */
function inTransaction<T>(db: Sqlite.DatabaseSync, begin: "BEGIN" | "BEGIN IMMEDIATE", act: () => T): T {
  db.exec(begin);
  try {
    const result = act();
    db.exec("COMMIT");
    return result;
  } catch (error) {
    // After a full disk SQLite has rolled back already. Another rollback would hide the original error.
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}

/** Whether the file is empty. Throws if it is something else than a journal. */
function isNew(db: Sqlite.DatabaseSync, path: string): boolean {
  const header = headerOf(db);
  refuseForeign(path, header);
  if (header.format !== 0) return false;
  if (db.prepare("SELECT 1 FROM sqlite_schema").get() !== undefined) refuseOther(path);
  return true;
}

function headerOf(db: Sqlite.DatabaseSync): Header {
  return { format: pragma(db, "user_version"), application: pragma(db, "application_id") };
}

function pragma(db: Sqlite.DatabaseSync, name: string): number {
  return Number(db.prepare(`PRAGMA ${name}`).get()?.[name]);
}

function retryWhileBusy<T>(timeoutMs: number, act: () => T): T {
  const until = realNow() + timeoutMs;
  for (;;) {
    try {
      return act();
    } catch (error) {
      if (!isBusy(error) || realNow() > until) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
  }
}
