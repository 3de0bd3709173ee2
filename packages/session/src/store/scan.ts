import { Buffer } from "node:buffer";
import { InvalidValueError } from "@ravi/kernel";
import { SessionCorruptError } from "../errors.ts";
import { type EntryHead, headOf, isSmall, type SessionEntry } from "./entry.ts";
import { readAt, type SessionFile } from "./files.ts";
import { FORMAT, type Front, readBody, readFront, readHeader, seedOf } from "./line-format.ts";
import type { SessionInfo } from "./store.ts";

/** What was read from a session's file. */
export interface Scan {
  readonly info: SessionInfo;
  readonly heads: readonly EntryHead[];
  /** The number of bytes in whole lines. Whatever follows is what a crash left of the last line. */
  readonly whole: number;
}

const NEWLINE = 0x0a;
const CHUNK = 1 << 20;
/** Two zero bytes in a row: a part that the disk never filled. A single one could be a flipped bit. */
const HOLE = Buffer.from([0, 0]);

/**
 * Reads the lines of a file in chunks. A last line that a crash cut off (its newline is missing, or parts of it are zeros that
 * the disk never filled) was never acknowledged and is left out. Any other damage throws a `SessionCorruptError` that says
 * where.
 */
export async function scan(file: SessionFile, sessionId: string): Promise<Scan> {
  const reader = new Reader(sessionId);
  const { size } = await file.stat();
  // One byte more than the file has, so that the end shows in the second read.
  let buffer = Buffer.allocUnsafe(Math.min(CHUNK, size + 1));
  let held = 0;
  for (let position = 0; ;) {
    if (held === buffer.length) buffer = Buffer.concat([buffer, Buffer.allocUnsafe(buffer.length)]);
    const got = await readAt(file, position, buffer.subarray(held));
    if (got === 0) return reader.end(buffer.subarray(0, held));
    position += got;
    const filled = buffer.subarray(0, held + got);
    let start = 0;
    // The bytes kept from before contain no newline, so they are not searched again.
    for (let end = filled.indexOf(NEWLINE, held); end !== -1; end = filled.indexOf(NEWLINE, start)) {
      reader.line(filled.subarray(start, end));
      start = end + 1;
    }
    filled.copyWithin(0, start);
    held = filled.length - start;
  }
}

interface Broken {
  readonly line: number;
  readonly position: number;
  readonly isTorn: boolean;
}

class Reader {
  private readonly sessionId: string;
  private readonly seed: number;
  private readonly heads: EntryHead[] = [];
  private info: SessionInfo | undefined;
  private lines = 0;
  private offset = 0;
  /** The first line that is damaged. Whether a crash can be the reason depends on what follows it. */
  private broken: Broken | undefined;

  constructor(sessionId: string) {
    this.sessionId = sessionId;
    this.seed = seedOf(sessionId);
  }

  /** `bytes` is the line without its newline. */
  line(bytes: Buffer): void {
    const position = this.offset;
    this.lines++;
    this.offset += bytes.length + 1;
    if (this.info === undefined && this.broken === undefined) return this.header(bytes);
    const front = readFront(this.seed, bytes);
    if (front === undefined) {
      this.broken ??= { line: this.lines, position, isTorn: bytes.includes(HOLE) };
      return;
    }
    if (this.broken !== undefined) throw this.damaged(this.broken);
    if (front.n !== this.heads.length + 1) {
      const problem = `found entry ${front.n} where entry ${this.heads.length + 1} should be`;
      throw this.corrupt(this.lines, position, problem);
    }
    this.heads.push(headOf(front, position, bytes.length + 1, this.small(front, bytes, position)));
  }

  /** `rest` is what follows the last newline. */
  end(rest: Buffer): Scan {
    const whole = this.broken?.position ?? this.offset;
    if (this.broken !== undefined && !this.broken.isTorn) throw this.damaged(this.broken);
    if (rest.length > 0 && this.broken === undefined) {
      // A whole line followed by a byte that is not a newline: the newline was there once and was changed, so this is damage
      // and not a torn write.
      const isDamaged = readFront(this.seed, rest.subarray(0, -1)) !== undefined;
      if (isDamaged) throw this.damaged({ line: this.lines + 1, position: whole, isTorn: false });
    }
    if (this.info === undefined) throw this.damaged({ line: 1, position: 0, isTorn: false });
    return { info: this.info, heads: this.heads, whole };
  }

  private header(bytes: Buffer): void {
    const found = readHeader(bytes.toString("utf8"));
    if (found === undefined) throw this.damaged({ line: 1, position: 0, isTorn: false });
    if ("format" in found) {
      const expected = `format ${FORMAT}; the file was written by another version of @ravi/session, so use that version`;
      throw new InvalidValueError({
        field: `the format of session ${this.sessionId}`,
        value: found.format,
        expected,
      });
    }
    if (found.id !== this.sessionId) throw this.corrupt(1, 0, `the file belongs to session ${found.id}`);
    this.info = found;
  }

  private small(front: Front, bytes: Buffer, position: number): SessionEntry | undefined {
    if (!isSmall(front.kind)) return undefined;
    try {
      return readBody(front, bytes);
    } catch (cause) {
      throw this.corrupt(this.lines, position, `entry ${front.n} is not JSON`, cause);
    }
  }

  private damaged({ line, position }: Broken): SessionCorruptError {
    return this.corrupt(line, position, "the line is not what was written");
  }

  private corrupt(line: number, position: number, problem: string, cause?: unknown): SessionCorruptError {
    return new SessionCorruptError({ sessionId: this.sessionId, line, position, problem, cause });
  }
}
