import { Buffer } from "node:buffer";
import { type ChatMessage, InvalidValueError, JournalCorruptError } from "@ravi/kernel";
import { FORMAT, headerLine, type Line, readLine } from "./line-format.ts";
import { isMessage } from "./message-text.ts";

export interface Scan {
  readonly messages: readonly ChatMessage[];
  /** How many bytes are whole appends. What follows is what a crash left of the last one. */
  readonly whole: number;
}

/** Zeros that the disk never filled. One alone may as well be a bit that fell over in a line that was acknowledged. */
// oxlint-disable-next-line eslint/no-control-regex -- zeros are what it looks for
const HOLE = /\u0000{2}/;

interface Row {
  readonly offset: number;
  readonly end: number;
  readonly text: string;
  readonly line: Line | undefined;
}

/**
 * Reads a file's bytes. An append that a crash cut off (it misses its end, or parts of it are zeros that the disk never
 * filled) was never acknowledged and is left out whole. Any other damage is an error that says where.
 */
export function scan(
  bytes: Uint8Array,
  { keyText, sessionId }: { keyText: string; sessionId: string },
): Scan {
  const header = Buffer.from(headerLine(keyText), "utf8");
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const corrupt = (position: number, problem: string, cause?: unknown): JournalCorruptError =>
    new JournalCorruptError({ runId: sessionId, position, problem, cause });
  if (!buffer.subarray(0, header.length).equals(header)) {
    unreadableHeader({ buffer, header, keyText, corrupt });
    return { messages: [], whole: 0 };
  }

  const rows = rowsOf(buffer, header.length, keyText);
  const messages: ChatMessage[] = [];
  let whole = header.length;
  let batch: ChatMessage[] = [];
  for (const [at, { offset, end, text, line }] of rows.entries()) {
    const expected = messages.length + batch.length + 1;
    if (line === undefined) {
      const torn = end === -1 ? readLine(keyText, text.slice(0, -1)) === undefined : HOLE.test(text);
      const startsAfter = rows
        .slice(at + 1)
        .some((row) => row.line !== undefined && row.line.n === row.line.first);
      if (torn && !startsAfter) return { messages, whole };
      throw corrupt(offset, `line ${expected + 1} is not as it was written`);
    }
    if (line.n !== expected || line.first !== messages.length + 1 || line.last < line.n) {
      throw corrupt(offset, `message ${line.n} stands where ${expected} should`);
    }
    batch.push(readMessage(line, (problem, cause) => corrupt(offset, problem, cause)));
    if (line.n === line.last) {
      for (const message of batch) messages.push(message);
      batch = [];
      whole = end;
    }
  }
  return { messages, whole };
}

function rowsOf(buffer: Buffer, from: number, keyText: string): Row[] {
  const rows: Row[] = [];
  for (let offset = from; offset < buffer.length;) {
    const newline = buffer.indexOf(0x0a, offset);
    const text = buffer.toString("utf8", offset, newline === -1 ? buffer.length : newline);
    // A line without its end is not whole, even if only the end is missing: the next append would be glued to it.
    const line = newline === -1 ? undefined : readLine(keyText, text);
    const end = newline === -1 ? -1 : newline + 1;
    rows.push({ offset, end, text, line });
    offset = newline === -1 ? buffer.length : newline + 1;
  }
  return rows;
}

function readMessage(line: Line, fail: (problem: string, cause?: unknown) => Error): ChatMessage {
  let message: unknown;
  try {
    message = JSON.parse(line.message);
  } catch (cause) {
    throw fail(`message ${line.n} is not JSON`, cause);
  }
  if (!isMessage(message)) throw fail(`message ${line.n} is not a message`);
  return message;
}

/** Says what is wrong with the file; nothing, if the crash came with the first append: nothing in it was ever acknowledged. */
function unreadableHeader({
  buffer,
  header,
  keyText,
  corrupt,
}: {
  readonly buffer: Buffer;
  readonly header: Buffer;
  readonly keyText: string;
  readonly corrupt: (position: number, problem: string) => JournalCorruptError;
}): void {
  const newline = buffer.indexOf(0x0a);
  const first = buffer.toString("utf8", 0, newline === -1 ? buffer.length : newline);
  const version = /^\{"ravi":"history","v":(\d{1,9}),/.exec(first)?.[1];
  if (version !== undefined && Number(version) > FORMAT) {
    const expected = `format ${FORMAT}; a newer version of @ravi/context wrote this file, use that one`;
    throw new InvalidValueError({ field: "history format", value: Number(version), expected });
  }
  const begun = newline === -1 && header.subarray(0, buffer.length).equals(buffer);
  const blank = buffer.every((byte) => byte === 0);
  // A block that never got to the disk, and behind it at most the rest of the same append.
  const torn = HOLE.test(first) && !rowsOf(buffer, 0, keyText).some(({ line }) => (line?.first ?? 1) > 1);
  if (!begun && !blank && !torn)
    throw corrupt(0, "the header is damaged, or the file belongs to another history");
}
