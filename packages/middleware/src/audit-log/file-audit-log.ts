import { Buffer } from "node:buffer";
import {
  type AuditEntry,
  type AuditLog,
  checkFields,
  InvalidValueError,
  JournalCorruptError,
  JournalLockedError,
} from "@ravi/kernel";
import { type ChainReport, link, verifyChain } from "./chain.ts";

/** All that the log needs of a disk: a part of `node:fs/promises`, which is the default. */
export interface AuditDisk {
  /** The whole file; empty where there is none. */
  read(path: string): Promise<string>;
  /** Cuts off what stands in the file after this text. */
  cutAfter(path: string, text: string): Promise<void>;
  /** At the end of the file, on the disk when it resolves. Throws where the file is not of this size, in bytes: another writes. */
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
    if (typeof path !== "string" || path === "")
      throw new InvalidValueError({ field: "path", value: path, expected: "the path of a file" });
    const disk = options.disk ?? nodeDisk;
    const text = await disk.read(path);
    const report = verifyChain(text, options.head);
    if (!report.ok) throw corrupt(path, report);
    const whole = text.slice(0, text.lastIndexOf("\n") + 1);
    if (report.torn) await disk.cutAfter(path, whole);
    return new Log(path, disk, { seq: report.entries, head: report.head, size: Buffer.byteLength(whole) });
  },

  /** Checks a log without opening it. */
  async verify(path: string, options: FileAuditLogOptions = {}): Promise<ChainReport> {
    checkFields("FileAuditLog options", options, ["disk", "head"]);
    return verifyChain(await (options.disk ?? nodeDisk).read(path), options.head);
  },
});

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
  private broken: Error | undefined;

  constructor(path: string, disk: AuditDisk, end: End) {
    this.path = path;
    this.disk = disk;
    this.end = end;
  }

  /** Written down as it is now, in the order of the calls. */
  append(entry: AuditEntry): Promise<void> {
    const copy = JSON.parse(JSON.stringify(entry)) as AuditEntry;
    const written = this.last.then(() => this.write(copy));
    this.last = written.catch(() => {});
    return written;
  }

  verify(): Promise<ChainReport> {
    return this.last.then(async () => verifyChain(await this.disk.read(this.path), this.end.head));
  }

  private async write(entry: AuditEntry): Promise<void> {
    // Half a line may stand in the file: what would follow it could not be read any more.
    if (this.broken !== undefined) throw this.broken;
    const { seq, head, size } = this.end;
    const record = link(seq + 1, head, entry);
    const line = `${JSON.stringify(record)}\n`;
    try {
      await this.disk.append(this.path, line, size);
    } catch (error) {
      this.broken = error instanceof Error ? error : new Error(String(error));
      throw this.broken;
    }
    this.end = { seq: record.seq, head: record.hash, size: size + Buffer.byteLength(line) };
  }
}

// Loaded when it is used: the rest of this package runs where there is no disk.
const nodeDisk: AuditDisk = Object.freeze({
  async read(path: string): Promise<string> {
    const { readFile } = await import("node:fs/promises");
    try {
      return await readFile(path, "utf8");
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return "";
      throw error;
    }
  },
  async cutAfter(path: string, text: string): Promise<void> {
    const { truncate } = await import("node:fs/promises");
    await truncate(path, Buffer.byteLength(text));
  },
  async append(path: string, text: string, size: number): Promise<void> {
    const { open } = await import("node:fs/promises");
    const file = await open(path, "a", 0o600);
    const check = async (expected: number): Promise<void> => {
      if ((await file.stat()).size !== expected) throw taken(path);
    };
    try {
      await check(size);
      await file.appendFile(text, "utf8");
      // Two who looked at the same time both find out now.
      await check(size + Buffer.byteLength(text));
      await file.sync();
    } finally {
      await file.close();
    }
  },
});

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
