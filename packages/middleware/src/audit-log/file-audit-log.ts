import { Buffer } from "node:buffer";
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
import { checkPort } from "@ravi/kernel/loop";
import { codeOf } from "../error-code.ts";
import { type ChainReport, ChainReader, link } from "./chain.ts";
import { claimPlace, sweepClaims } from "./claim.ts";

/** All that the log needs of a disk: a part of `node:fs/promises`, which is the default. */
export interface AuditDisk {
  /** The whole file, or its pieces, since a file may be longer than any text; empty where there is none. */
  read(path: string): Promise<string | AsyncIterable<string>>;
  /** Cuts off the half line that stands in the file after so many bytes. Throws where another is writing it. */
  cutAfter(path: string, size: number): Promise<void>;
  /**
   * At the end of the file, on the disk when it resolves. Throws, and writes nothing, where the file is not of this size, in
   * bytes, or where another writes at this moment.
   */
  append(path: string, text: string, size: number): Promise<void>;
}

export interface FileAuditLogOptions {
  readonly disk?: AuditDisk | undefined;
  /** The `head` of an earlier verification, kept elsewhere: shows when lines are gone at the end. */
  readonly head?: string | undefined;
}

/** An audit as lines of JSON in a file, each chained to the one before by its hash. One process at a time may write to it. */
export interface FileAuditLog extends AuditLog {
  readonly path: string;
  append(entry: AuditEntry): Promise<void>;
  /** Reads the whole file again and checks it. */
  verify(): Promise<ChainReport>;
}

export const FileAuditLog = Object.freeze({
  /** Checks what is there before anything is added: a log that was tampered with is not continued. */
  async open(path: string, options: FileAuditLogOptions = {}): Promise<FileAuditLog> {
    checkFields("FileAuditLog options", options, ["disk", "head"]);
    const disk = checkPlace(path, options);
    const { report, size } = await readChain(disk, path, options.head);
    if (!report.ok) throw corrupt(path, report);
    if (report.torn) await disk.cutAfter(path, size);
    if (disk === nodeDisk) await sweepClaims(path, size);
    return new Log(path, disk, { seq: report.entries, head: report.head, size });
  },

  /** Checks a log without opening it. */
  async verify(path: string, options: FileAuditLogOptions = {}): Promise<ChainReport> {
    checkFields("FileAuditLog options", options, ["disk", "head"]);
    return (await readChain(checkPlace(path, options), path, options.head)).report;
  },
});

function checkPlace(path: string, { disk = nodeDisk, head }: FileAuditLogOptions): AuditDisk {
  if (typeof path !== "string" || path === "")
    throw new InvalidValueError({ field: "path", value: path, expected: "the path of a file" });
  checkPort("disk", disk, ["read", "cutAfter", "append"]);
  if (head !== undefined && typeof head !== "string")
    throw new InvalidValueError({
      field: "head",
      value: head,
      expected: "the head of an earlier verification",
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

/** Where the log ends, as its writer knows it. */
interface End {
  readonly seq: number;
  readonly head: string;
  /** Bytes. */
  readonly size: number;
}

class Log implements FileAuditLog {
  readonly isNoop = false;
  readonly path: string;
  private readonly disk: AuditDisk;
  private end: End;
  private last: Promise<void> = Promise.resolve();
  /** Nothing more is written, and why. */
  private broken: Error | undefined;
  /** Why the last write failed, of which half a line may stand in the file. */
  private failed: Error | undefined;

  constructor(path: string, disk: AuditDisk, end: End) {
    this.path = path;
    this.disk = disk;
    this.end = end;
  }

  /** Written down as it is now, in the order of the calls. */
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
      await this.put(line, size);
    } catch (error) {
      // Who was overtaken by another writer is out. A disk that was full may have room the next time.
      if (isRaviError(error)) throw (this.broken = error);
      throw (this.failed = unwritable(this.path, error));
    }
    this.failed = undefined;
    this.end = { seq: record.seq, head: record.hash, size: size + Buffer.byteLength(line) };
  }

  /** Where the file is not as it was left, that may be half a line of a write of ours which failed: it is cut off first. */
  private async put(line: string, size: number): Promise<void> {
    try {
      return await this.disk.append(this.path, line, size);
    } catch (error) {
      if (this.failed === undefined || !isRaviError(error, "JOURNAL_LOCKED")) throw error;
      const { report, size: whole } = await readChain(this.disk, this.path, this.end.head);
      if (!report.ok) throw corrupt(this.path, report);
      // A whole line, of us or of another: what the disk has of it nobody knows.
      if (whole !== size) throw unsure(this.path, this.failed);
      if (!report.torn) throw error;
    }
    await this.disk.cutAfter(this.path, size);
    await this.disk.append(this.path, line, size);
  }
}

// Loaded when it is used: the rest of this package runs where there is no disk.
const nodeDisk: AuditDisk = Object.freeze({
  async read(path: string): Promise<AsyncIterable<string>> {
    return piecesOf(path, 0);
  },
  async cutAfter(path: string, size: number): Promise<void> {
    const { realpath, truncate } = await import("node:fs/promises");
    const claim = await claimPlace(await realpath(path), size);
    try {
      // Whoever was still writing this line is done by now.
      for await (const piece of piecesOf(path, size)) if (piece.includes("\n")) throw taken(path);
      await truncate(path, size);
    } finally {
      await claim.release();
    }
  },
  async append(path: string, text: string, size: number): Promise<void> {
    const { open, realpath } = await import("node:fs/promises");
    const file = await open(path, "a", 0o600);
    const check = async (expected: number): Promise<void> => {
      if ((await file.stat()).size !== expected) throw taken(path);
    };
    try {
      // Who was overtaken before need not claim anything.
      await check(size);
      // By its one real name: a link to it is the same log.
      const claim = await claimPlace(await realpath(path), size);
      try {
        // Somebody may have written here and given the claim back in between.
        await check(size);
        try {
          await file.appendFile(text, "utf8");
        } catch (error) {
          // Of the half line nothing stays. Where not even that succeeds, whoever writes next cuts it off.
          await file.truncate(size).catch(() => {});
          throw error;
        }
        // Only who knows nothing of claims can have written too.
        await check(size + Buffer.byteLength(text));
      } finally {
        await claim.release();
      }
      await file.sync();
    } finally {
      await file.close();
    }
    // A file that is new is on the disk only when its name is.
    if (size === 0) await syncFolder(await realpath(path));
  },
});

async function syncFolder(path: string): Promise<void> {
  const [{ open }, { dirname }, { default: process }] = await Promise.all([
    import("node:fs/promises"),
    import("node:path"),
    import("node:process"),
  ]);
  // A folder cannot be opened there.
  if (process.platform === "win32") return;
  const folder = await open(dirname(path), "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

async function* piecesOf(path: string, start: number): AsyncGenerator<string> {
  const { createReadStream } = await import("node:fs");
  try {
    yield* createReadStream(path, { encoding: "utf8", start, highWaterMark: 1_048_576 });
  } catch (error) {
    if (codeOf(error) === "ENOENT") return;
    throw error;
  }
}

/** A folder, what is below a file, or no name at all: there can be no log. */
const NO_FILE: ReadonlySet<unknown> = new Set(["EISDIR", "ENOTDIR", "ERR_INVALID_ARG_VALUE"]);

function unreadable(path: string, cause: unknown): unknown {
  if (isRaviError(cause)) return cause;
  if (NO_FILE.has(codeOf(cause)))
    return new InvalidValueError({ field: "path", value: path, expected: "the path of a file", cause });
  return new JournalFailedError({ what: `the audit log ${path} could not be read`, final: true, cause });
}

function unwritable(path: string, cause: unknown): Error {
  return new JournalFailedError({ what: `the audit log ${path} could not be written`, final: false, cause });
}

function unsure(path: string, cause: unknown): Error {
  const what = `the audit log ${path} has a line that was not confirmed, and may not be on the disk`;
  return new JournalFailedError({ what, final: true, cause });
}

function taken(path: string): Error {
  return new JournalLockedError({
    runId: path,
    owner: "another writer, who has changed the file since it was opened",
  });
}

function corrupt(path: string, report: Extract<ChainReport, { ok: false }>): Error {
  return new JournalCorruptError({
    runId: path,
    position: report.line,
    problem: `line ${report.line} ${report.problem}; keep the file as evidence and begin a new one`,
  });
}
