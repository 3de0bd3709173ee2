import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import type { AuditEntry } from "@ravi/kernel";

/** One line of the log: the entry, its place, and a hash over it and the line before. */
interface AuditRecord {
  readonly seq: number;
  readonly prev: string;
  readonly entry: AuditEntry;
  readonly hash: string;
}

/** What the first line is chained to. */
const GENESIS = "0".repeat(43);

export function link(seq: number, prev: string, entry: AuditEntry): AuditRecord {
  return { seq, prev, entry, hash: hashOf(seq, prev, JSON.stringify(entry)) };
}

export type ChainReport =
  | { readonly ok: true; readonly entries: number; readonly head: string; readonly torn: boolean }
  | { readonly ok: false; readonly line: number; readonly problem: string };

/**
 * Checks that every line of a log is there, in its place, and as it was written. A last line without its end is what a crash
 * leaves: it was never confirmed to anybody, and is told as `torn`. Lines that are gone at the end leave a whole log behind;
 * a `head` that was kept elsewhere shows it. The log comes in pieces, of which no more than one and a line are held at a time.
 */
export class ChainReader {
  /** How many bytes the lines have that were read and are right. */
  size = 0;
  private readonly head: string | undefined;
  private isKnown: boolean;
  private prev = GENESIS;
  private lines = 0;
  /** The parts of a line whose end has not come yet. */
  private rest: string[] = [];
  private problem: Extract<ChainReport, { ok: false }> | undefined;

  constructor(head: string | undefined) {
    this.head = head;
    this.isKnown = head === undefined || head === GENESIS;
  }

  push(piece: string): void {
    let from = 0;
    for (let end = piece.indexOf("\n"); end !== -1; end = piece.indexOf("\n", from)) {
      this.readLine([...this.rest, piece.slice(from, end)].join(""));
      this.rest = [];
      from = end + 1;
    }
    if (from < piece.length) this.rest.push(piece.slice(from));
  }

  report(): ChainReport {
    if (this.problem !== undefined) return this.problem;
    if (!this.isKnown)
      return {
        ok: false,
        line: this.lines + 1,
        problem: "is missing: the head that was kept is not there",
      };
    return { ok: true, entries: this.lines, head: this.prev, torn: this.rest.length > 0 };
  }

  private readLine(line: string): void {
    // After the first line that is wrong, no other says anything.
    if (this.problem !== undefined) return;
    const record = problemOf(line, this.lines + 1, this.prev);
    if (typeof record === "string") {
      this.problem = { ok: false, line: this.lines + 1, problem: record };
      return;
    }
    this.lines++;
    this.size += Buffer.byteLength(line) + 1;
    this.prev = record.hash;
    this.isKnown ||= this.prev === this.head;
  }
}

function problemOf(line: string, seq: number, prev: string): string | AuditRecord {
  const record = read(line);
  if (record === undefined) return "is no entry of an audit log";
  if (record.seq !== seq) return `is numbered ${record.seq}; a line is missing, doubled or moved`;
  if (record.prev !== prev) return "is not chained to the line before it";
  if (record.hash !== hashOf(seq, prev, JSON.stringify(record.entry)))
    return "was changed after it was written";
  // What a reader of JSON passes over, such as a field twice, another one may show.
  return line === JSON.stringify(record) ? record : "is not as it was written";
}

function read(line: string): AuditRecord | undefined {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value !== "object" || value === null) return undefined;
    const { seq, prev, hash, entry }: Partial<AuditRecord> = value;
    return typeof seq === "number" &&
      typeof prev === "string" &&
      typeof hash === "string" &&
      entry !== undefined
      ? { seq, prev, entry, hash }
      : undefined;
  } catch {
    return undefined;
  }
}

function hashOf(seq: number, prev: string, entry: string): string {
  return createHash("sha256").update(`${seq}\n${prev}\n${entry}`).digest("base64url");
}
