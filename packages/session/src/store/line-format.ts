import { Buffer } from "node:buffer";
import { crc32 } from "node:zlib";
import { type EntryKind, isKind, type SessionEntry } from "./entry.ts";
import type { SessionInfo, SessionOrigin } from "./store.ts";

/**
 * The version of the file format. A file is a header line and one line for each entry, all of them JSON:
 *
 *     {"ravi":"session","v":1,"c":"0f3a…","b":{"id":"…","at":0,"origin":null}}
 *     {"c":"0f3a…","n":1,"k":"message","i":"…","p":null,"at":0,"b":{…}}
 *
 * `n` counts from 1, `k`, `i` and `p` are the entry's kind, id and parent, `b` is the rest of it. `c` is a checksum over the
 * session's id and the rest of the line, so that a line that was changed, moved or copied from another file is detected. A
 * reader needs only the front of a line to place the entry in the tree.
 */
export const FORMAT = 1;

const HEADER = /^\{"ravi":"session","v":(\d{1,9}),(?:"c":"([0-9a-f]{8})","b":)?/;
const FRONT =
  /^\{"c":"([0-9a-f]{8})","n":(\d{1,15}),"k":"([a-z]{1,20})","i":"([\w.-]{1,120})","p":(?:null|"([\w.-]{1,120})"),"at":(\d{1,16}),"b":/;
/** Longer than any front. */
const FRONT_BYTES = 400;
const SUMMED = '{"c":"00000000",'.length;

export function headerLine(info: SessionInfo): string {
  const body = JSON.stringify({ id: info.id, at: info.createdAt, origin: info.origin });
  return `{"ravi":"session","v":${FORMAT},"c":"${sum(info.id, body)}","b":${body}}\n`;
}

export function entryLine(sessionId: string, n: number, entry: SessionEntry): string {
  const { id, parent, kind, at, ...body } = entry;
  const from = parent === null ? "null" : `"${parent}"`;
  const rest = `"n":${n},"k":"${kind}","i":"${id}","p":${from},"at":${at},"b":${JSON.stringify(body)}}`;
  return `{"c":"${sum(sessionId, rest)}",${rest}\n`;
}

/** The part of a line before the body. */
export interface Front {
  readonly n: number;
  readonly kind: EntryKind;
  readonly id: string;
  readonly parent: string | null;
  readonly at: number;
  /** The number of bytes before the body. */
  readonly length: number;
}

/** Reads the front of a line. Undefined if the line is not exactly as it was written. `line` is without its newline. */
export function readFront(seed: number, line: Buffer): Front | undefined {
  // Nearly all fronts are short, and decoding bytes to text is most of the work: try the first 160 bytes before 400.
  const front =
    FRONT.exec(line.toString("latin1", 0, 160)) ?? FRONT.exec(line.toString("latin1", 0, FRONT_BYTES));
  if (front === null) return undefined;
  const [whole, checksum, n, kind = "", id = "", parent, at] = front;
  if (!isKind(kind) || checksum !== hex(crc32(line.subarray(SUMMED), seed))) return undefined;
  return { n: Number(n), kind, id, parent: parent ?? null, at: Number(at), length: whole.length };
}

export function readBody(front: Front, line: Buffer): SessionEntry {
  const body = JSON.parse(line.toString("utf8", front.length, line.length - 1)) as object;
  return { ...body, id: front.id, parent: front.parent, kind: front.kind, at: front.at } as SessionEntry;
}

/** Reads the header: the session, the format number of another version, or undefined if the line is damaged. */
export function readHeader(line: string): { readonly format: number } | SessionInfo | undefined {
  const found = HEADER.exec(line);
  if (found === null || !line.endsWith("}")) return undefined;
  const [front, version, checksum] = found;
  if (Number(version) !== FORMAT) return { format: Number(version) };
  const body = line.slice(front.length, -1);
  try {
    const { id, at, origin } = JSON.parse(body) as { id: string; at: number; origin: SessionOrigin | null };
    return checksum === sum(id, body) ? { id, createdAt: at, origin } : undefined;
  } catch {
    // Not JSON, so it is not what was written.
    return undefined;
  }
}

/** The initial value for the checksums of a session's lines. */
export function seedOf(sessionId: string): number {
  return crc32(`${sessionId}\n`);
}

function sum(sessionId: string, text: string): string {
  return hex(crc32(Buffer.from(text, "utf8"), seedOf(sessionId)));
}

function hex(value: number): string {
  return value.toString(16).padStart(8, "0");
}
