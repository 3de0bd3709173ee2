import {
  type AuditEntry,
  type AuditLog,
  checkFields,
  InvalidValueError,
  isRaviError,
  JournalCorruptError,
  JournalFailedError,
  JournalLockedError,
} from "@ravi/kernel";
import { checkPort, hasCode } from "@ravi/kernel/loop";
import { nodeModule } from "../common/node-module.ts";
import { type ChainReport, ChainReader, link } from "./chain.ts";
import { claimPosition, sweepClaims } from "./file/claim.ts";

/** What the log needs of a file system. The default uses `node:fs/promises`. */
export interface AuditDisk {
  /** The whole file, or its pieces, since a file may be longer than any string. Empty if there is no file. */
  read(path: string): Promise<string | AsyncIterable<string>>;
  /** Cuts off an unfinished line after `size` bytes. Throws if another process is writing it. */
  cutAfter(path: string, size: number): Promise<void>;
  /**
   * Appends to the file, and resolves once the text is flushed to the disk. Throws without writing anything if the file does not
   * have `size` bytes, or if another process is writing.
   */
  append(path: string, text: string, size: number): Promise<void>;
}

export interface FileAuditLogOptions {
  readonly disk?: AuditDisk | undefined;
  /** The `head` of an earlier verification, kept elsewhere. With it, lines that are missing at the end are detected. */
  readonly head?: string | undefined;
}

/** An audit log of JSON lines in a file, each chained to the one before by its hash. One process at a time may write to it. */
export interface FileAuditLog extends AuditLog {
  readonly path: string;
  /** Resolves once the entry is on the disk. Entries are written in the order of the calls. */
  append(entry: AuditEntry): Promise<void>;
  /** Reads and checks the whole file. */
  verify(): Promise<ChainReport>;
}

/** Opens or checks an audit log in a file. */
export const FileAuditLog = Object.freeze({
  /** Opens a log for writing and checks it first. Throws a `JournalCorruptError` if it was tampered with. */
  async open(path: string, options: FileAuditLogOptions = {}): Promise<FileAuditLog> {
    checkFields("FileAuditLog options", options, ["disk", "head"]);
    const disk = checkOptions(path, options);
    const { report, size } = await readChain(disk, path, options.head);
    if (!report.ok) throw corruptLog(path, report);
    if (report.torn) await disk.cutAfter(path, size);
    if (disk === nodeDisk) await sweepClaims(path, size);
    return new HashChainLog(path, disk, { seq: report.entries, head: report.head, size });
  },

  /** Checks a log without opening it for writing. */
  async verify(path: string, options: FileAuditLogOptions = {}): Promise<ChainReport> {
    checkFields("FileAuditLog options", options, ["disk", "head"]);
    return (await readChain(checkOptions(path, options), path, options.head)).report;
  },
});

function checkOptions(path: string, { disk = nodeDisk, head }: FileAuditLogOptions): AuditDisk {
  if (typeof path !== "string" || path === "")
    throw new InvalidValueError({ field: "path", value: path, expected: "the path of a file" });
  checkPort("disk", disk, ["read", "cutAfter", "append"]);
  if (head !== undefined && typeof head !== "string")
    throw new InvalidValueError({
      field: "head",
      value: head,
      expected: "the `head` of an earlier verification, which is a string",
    });
  return disk;
}

/** How the log is, and how many bytes its whole lines have. */
async function readChain(
  disk: AuditDisk,
  path: string,
  head: string | undefined,
): Promise<{ readonly report: ChainReport; readonly size: number }> {
  const reader = new ChainReader(head);
  try {
    const content = await disk.read(path);
    if (typeof content === "string") reader.push(content);
    else for await (const piece of content) reader.push(piece);
  } catch (error) {
    throw unreadable(path, error);
  }
  return { report: reader.report(), size: reader.size };
}

/** The end of the log, as this writer knows it. */
interface End {
  readonly seq: number;
  readonly head: string;
  readonly size: number;
}

class HashChainLog implements FileAuditLog {
  readonly isNoop = false;
  readonly path: string;
  private readonly disk: AuditDisk;
  private end: End;
  private last: Promise<void> = Promise.resolve();
  /** Why nothing more is written; undefined while the log works. */
  private broken: Error | undefined;
  /** Why the last write failed. It may have left half a line in the file. */
  private failed: Error | undefined;

  constructor(path: string, disk: AuditDisk, end: End) {
    this.path = path;
    this.disk = disk;
    this.end = end;
  }

  /** The entry is copied immediately. Entries are written in the order of the calls. */
  append(entry: AuditEntry): Promise<void> {
    let copy: AuditEntry;
    try {
      copy = JSON.parse(JSON.stringify(entry)) as AuditEntry;
    } catch (cause) {
      const expected = "an entry that can be written as JSON";
      return Promise.reject(new InvalidValueError({ field: "entry", value: typeof entry, expected, cause }));
    }
    const written = this.last.then(() => this.write(copy));
    this.last = written.catch(() => {});
    return written;
  }

  verify(): Promise<ChainReport> {
    return this.last.then(async () => (await readChain(this.disk, this.path, this.end.head)).report);
  }

  private async write(entry: AuditEntry): Promise<void> {
    if (this.broken !== undefined) throw this.broken;
    const { seq, head, size } = this.end;
    const record = link(seq + 1, head, entry);
    const line = `${JSON.stringify(record)}\n`;
    try {
      await this.appendLine(line, size);
    } catch (error) {
      // A writer that was overtaken by another one must stop. After a disk error (a full disk, for example) the next write may
      // succeed.
      if (isRaviError(error)) throw (this.broken = error);
      throw (this.failed = unwritable(this.path, error));
    }
    this.failed = undefined;
    this.end = { seq: record.seq, head: record.hash, size: size + Buffer.byteLength(line) };
  }

  /** If the file is not as this writer left it, it may contain half a line of our own failed write, which is cut off first. */
  private async appendLine(line: string, size: number): Promise<void> {
    try {
      return await this.disk.append(this.path, line, size);
    } catch (error) {
      if (this.failed === undefined || !isRaviError(error, "JOURNAL_LOCKED")) throw error;
      const { report, size: whole } = await readChain(this.disk, this.path, this.end.head);
      if (!report.ok) throw corruptLog(this.path, report);
      // A complete line, ours or another's: nobody knows whether it is on the disk.
      if (whole !== size) throw unconfirmedLine(this.path, this.failed);
      if (!report.torn) throw error;
    }
    await this.disk.cutAfter(this.path, size);
    await this.disk.append(this.path, line, size);
  }
}

const nodeDisk: AuditDisk = Object.freeze({
  async read(path: string): Promise<AsyncIterable<string>> {
    return piecesOf(path, 0);
  },
  async cutAfter(path: string, size: number): Promise<void> {
    const { realpath, truncate } = nodeModule("node:fs/promises");
    const claim = await claimPosition(await realpath(path), size);
    try {
      // If another process was still writing this line, it has finished it by now.
      for await (const piece of piecesOf(path, size)) if (piece.includes("\n")) throw changedByAnother(path);
      await truncate(path, size);
    } finally {
      await claim.release();
    }
  },
  async append(path: string, text: string, size: number): Promise<void> {
    const { realpath } = nodeModule("node:fs/promises");
    const file = await openToAppend(path, size);
    const check = async (expected: number): Promise<void> => {
      const found = (await file.stat()).size;
      if (found < size) throw cutLog(path, size, found);
      if (found !== expected) throw changedByAnother(path);
    };
    try {
      // A writer that was overtaken need not claim anything.
      await check(size);
      // By its real path, because a symbolic link to the file is the same log.
      const claim = await claimPosition(await realpath(path), size);
      try {
        // Another process may have written and released its claim in between.
        await check(size);
        try {
          await file.appendFile(text, "utf8");
        } catch (error) {
          // Removes the half line. If even that fails, the next writer cuts it off.
          await file.truncate(size).catch(() => {});
          throw error;
        }
        // Only a program that ignores claims can have written as well.
        await check(size + Buffer.byteLength(text));
      } finally {
        await claim.release();
      }
      await file.sync();
    } finally {
      await file.close();
    }
    // A new file is durable only once its folder is synced.
    if (size === 0) await syncFolder(await realpath(path));
  },
});

/** Only a new log is created: one that was moved away (rotated, for example) must not be continued by an empty file. */
async function openToAppend(path: string, size: number) {
  const { open } = nodeModule("node:fs/promises");
  const { O_APPEND, O_WRONLY } = nodeModule("node:fs").constants;
  try {
    return await open(path, size === 0 ? "a" : O_APPEND | O_WRONLY, 0o600);
  } catch (error) {
    if (size > 0 && hasCode(error, "ENOENT")) throw cutLog(path, size, 0);
    throw error;
  }
}

async function syncFolder(path: string): Promise<void> {
  // Windows cannot open a folder.
  if (nodeModule("node:process").platform === "win32") return;
  const folder = await nodeModule("node:fs/promises").open(nodeModule("node:path").dirname(path), "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

async function* piecesOf(path: string, start: number): AsyncGenerator<string> {
  const { createReadStream } = nodeModule("node:fs");
  try {
    // What a pipe or a device gives may never end.
    if (!(await nodeModule("node:fs/promises").stat(path)).isFile()) throw noFile(path);
    yield* createReadStream(path, { encoding: "utf8", start, highWaterMark: 1_048_576 });
  } catch (error) {
    if (hasCode(error, "ENOENT")) return;
    throw error;
  }
}

function unreadable(path: string, cause: unknown): unknown {
  if (isRaviError(cause)) return cause;
  // Below a file, or no name at all: there can be no log.
  if (hasCode(cause, "ENOTDIR") || hasCode(cause, "ERR_INVALID_ARG_VALUE")) return noFile(path, cause);
  return unusable(`the audit log ${path} could not be read`, cause);
}

function noFile(path: string, cause?: unknown): Error {
  return new InvalidValueError({ field: "path", value: path, expected: "the path of a file", cause });
}

function unwritable(path: string, cause: unknown): Error {
  return new JournalFailedError({ what: `the audit log ${path} could not be written`, final: false, cause });
}

function unconfirmedLine(path: string, cause: unknown): Error {
  const what = `the audit log ${path} ends with a line whose write was not confirmed, so it may not be on the disk`;
  return unusable(what, cause);
}

function unusable(what: string, cause: unknown): Error {
  const hint = "fix the cause and open the log again";
  return new JournalFailedError({ what, final: true, cause, hint });
}

/** Nobody who keeps to the rules makes a log shorter. */
function cutLog(path: string, size: number, found: number): Error {
  const what = `the audit log ${path} was moved, removed or cut since it was opened`;
  const cause = new Error(`${size} bytes were written, and ${found} are there`);
  const hint = "nothing more is written here until the log is opened again";
  return new JournalFailedError({ what, final: true, cause, hint });
}

function changedByAnother(path: string): Error {
  return new JournalLockedError({
    runId: path,
    what: `the audit log ${path}`,
    owner:
      "another writer, which has changed the file since it was opened here (nothing more is written here until the log is opened again; give each process a file of its own)",
  });
}

function corruptLog(path: string, report: Extract<ChainReport, { ok: false }>): Error {
  return new JournalCorruptError({
    runId: path,
    what: `the audit log ${path}`,
    position: report.line,
    problem: `line ${report.line} ${report.problem}; keep the file as evidence and start a new one`,
  });
}
