import type { AuditEntry } from "@ravi/kernel";
import { tryParse } from "@ravi/kernel/provider";
import { nodeModule } from "../common/node-module.ts";

/** One line of the log: the entry, its number, and a hash over it and the line before. */
interface AuditRecord {
  readonly seq: number;
  readonly prev: string;
  readonly entry: AuditEntry;
  readonly hash: string;
}

/** The `prev` of the first line. */
const GENESIS = "0".repeat(43);

/** Makes the next line of a log. */
export function link(seq: number, prev: string, entry: AuditEntry): AuditRecord {
  return { seq, prev, entry, hash: hashOf(seq, prev, JSON.stringify(entry)) };
}

/**
 * The result of a verification. `head` is the hash of the last line. `torn` means that an unfinished line, never confirmed, is at
 * the end. If not ok, `line` counts from 1.
 */
export type ChainReport =
  | { readonly ok: true; readonly entries: number; readonly head: string; readonly torn: boolean }
  | { readonly ok: false; readonly line: number; readonly problem: string };

/**
 * Checks that every line of a log is present, in its place and unchanged. A last line without its newline is left by a crash: it
 * was never confirmed to anybody, and is reported as `torn`. If lines are missing at the end, the rest is still a valid log; only
 * a `head` that was kept elsewhere shows it. The log is read in pieces; only one piece and one line are in memory at a time.
 */
export class ChainReader {
  /** The number of bytes of the valid lines read so far. */
  size = 0;
  private readonly head: string | undefined;
  private isKnown: boolean;
  private prev = GENESIS;
  private lines = 0;
  /** The parts of a line whose end has not been read yet. */
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
        problem: "is missing: no line of the file has the expected head hash",
      };
    return { ok: true, entries: this.lines, head: this.prev, torn: this.rest.length > 0 };
  }

  private readLine(line: string): void {
    // After the first invalid line the others cannot be checked.
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
  if (record === undefined) return "is not an entry of an audit log";
  if (record.seq !== seq) return `has the number ${record.seq}; a line is missing, duplicated or moved`;
  if (record.prev !== prev) return "does not continue the hash chain of the line before it";
  if (record.hash !== hashOf(seq, prev, JSON.stringify(record.entry)))
    return "was changed after it was written";
  // A JSON parser ignores some changes, such as a duplicate field, which other readers may show. So the line must match exactly.
  return line === JSON.stringify(record) ? record : "is not exactly what was written";
}

function read(line: string): AuditRecord | undefined {
  const value = tryParse(line);
  if (typeof value !== "object" || value === null) return undefined;
  const { seq, prev, hash, entry }: Partial<AuditRecord> = value;
  const isRecord =
    typeof seq === "number" && typeof prev === "string" && typeof hash === "string" && entry !== undefined;
  return isRecord ? { seq, prev, entry, hash } : undefined;
}

function hashOf(seq: number, prev: string, entry: string): string {
  return nodeModule("node:crypto").hash("sha256", `${seq}\n${prev}\n${entry}`, "base64url");
}
