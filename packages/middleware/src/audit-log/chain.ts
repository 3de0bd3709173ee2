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
 * Checks a whole log: every line is there, in its place, and as it was written. A last line without its end is what a crash
 * leaves: it was never confirmed to anybody, and is told as `torn`. Lines that are gone at the end leave a whole log behind;
 * a `head` that was kept elsewhere shows it.
 */
export function verifyChain(text: string, head?: string | undefined): ChainReport {
  const torn = text !== "" && !text.endsWith("\n");
  const lines = text.split("\n").slice(0, -1);
  let prev = GENESIS;
  let isKnown = head === undefined || head === GENESIS;
  for (const [at, line] of lines.entries()) {
    const problem = problemOf(line, at + 1, prev);
    if (typeof problem === "string") return { ok: false, line: at + 1, problem };
    prev = problem.hash;
    isKnown ||= prev === head;
  }
  if (!isKnown)
    return { ok: false, line: lines.length + 1, problem: "is missing: the head that was kept is not there" };
  return { ok: true, entries: lines.length, head: prev, torn };
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
