import { type ChatMessage, deepFreeze, InvalidValueError, JournalCorruptError } from "@ravi/kernel";
import type { ReadMessages } from "./kept-messages.ts";
import { FORMAT, headerLine, type Line, readLine } from "./line-format.ts";
import { isMessage } from "./message-text.ts";

/** The content of a history file. */
export interface Scan extends ReadMessages {
  /** The number of bytes of complete appends. What follows is left from an append that a crash interrupted. */
  readonly whole: number;
}

/** A block of zeros that the disk never filled. A single zero may also be a damaged byte in an acknowledged line. */
// oxlint-disable-next-line eslint/no-control-regex -- zeros are what it looks for
const HOLE = /\u0000{2}/;

interface Row {
  readonly offset: number;
  readonly end: number;
  readonly text: string;
  readonly line: Line | undefined;
}

/**
 * Reads the bytes of a file. An append that a crash interrupted (its end is missing, or parts are zeros that the disk never
 * filled) was never acknowledged and is ignored as a whole. Any other damage throws a `JournalCorruptError` with its position. A message
 * that is as in `known` is that object; every line is checked all the same.
 */
export function scan(
  bytes: Uint8Array,
  { keyText, sessionId, known }: { keyText: string; sessionId: string; known?: ReadMessages | undefined },
): Scan {
  const header = Buffer.from(headerLine(keyText), "utf8");
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const what = `the history of session ${sessionId}`;
  const corrupt = (position: number, problem: string, cause?: unknown): JournalCorruptError =>
    new JournalCorruptError({ runId: sessionId, what, position, problem, cause });
  if (!buffer.subarray(0, header.length).equals(header)) {
    unreadableHeader({ buffer, header, keyText, what, corrupt });
    return { messages: [], texts: [], whole: 0 };
  }

  const rows = rowsOf(buffer, header.length, keyText);
  const messages: ChatMessage[] = [];
  const texts: string[] = [];
  let whole = header.length;
  let batch: ChatMessage[] = [];
  for (const [at, { offset, end, text, line }] of rows.entries()) {
    const expected = messages.length + batch.length + 1;
    if (line === undefined) {
      const torn = end === -1 ? readLine(keyText, text.slice(0, -1)) === undefined : HOLE.test(text);
      const startsAfter = rows
        .slice(at + 1)
        .some((row) => row.line !== undefined && row.line.n === row.line.first);
      if (torn && !startsAfter) return { messages, texts: texts.slice(0, messages.length), whole };
      throw corrupt(offset, `line ${expected + 1} is not what was written`);
    }
    if (line.n !== expected || line.first !== messages.length + 1 || line.last < line.n) {
      throw corrupt(offset, `found message ${line.n} where message ${expected} should be`);
    }
    const same = known?.texts[expected - 1] === line.message ? known.messages[expected - 1] : undefined;
    batch.push(same ?? readMessage(line, (problem, cause) => corrupt(offset, problem, cause)));
    texts.push(line.message);
    if (line.n === line.last) {
      for (const message of batch) messages.push(message);
      batch = [];
      whole = end;
    }
  }
  return { messages, texts: texts.slice(0, messages.length), whole };
}

function rowsOf(buffer: Buffer, from: number, keyText: string): Row[] {
  const rows: Row[] = [];
  for (let offset = from; offset < buffer.length;) {
    const newline = buffer.indexOf(0x0a, offset);
    const text = buffer.toString("utf8", offset, newline === -1 ? buffer.length : newline);
    // A line without its newline is not complete, even if only that is missing: the next append would be joined to it.
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
  if (!isMessage(message)) throw fail(`message ${line.n} has no valid role and content`);
  return deepFreeze(message);
}

/**
 * Throws if the header is damaged. Returns if a crash interrupted the first append, since nothing in the file was acknowledged
 * then.
 */
function unreadableHeader({
  buffer,
  header,
  keyText,
  what,
  corrupt,
}: {
  readonly buffer: Buffer;
  readonly header: Buffer;
  readonly keyText: string;
  readonly what: string;
  readonly corrupt: (position: number, problem: string) => JournalCorruptError;
}): void {
  const newline = buffer.indexOf(0x0a);
  const first = buffer.toString("utf8", 0, newline === -1 ? buffer.length : newline);
  const version = /^\{"ravi":"history","v":(\d{1,9}),/.exec(first)?.[1];
  if (version !== undefined && Number(version) !== FORMAT) {
    const expected = `format ${FORMAT}; the file was written by another version of @ravi/context, so use that version`;
    throw new InvalidValueError({ field: `the format of ${what}`, value: Number(version), expected });
  }
  const begun = newline === -1 && header.subarray(0, buffer.length).equals(buffer);
  const blank = buffer.every((byte) => byte === 0);
  // A block that never reached the disk, followed by nothing but the rest of the same append.
  const torn = HOLE.test(first) && !rowsOf(buffer, 0, keyText).some(({ line }) => (line?.first ?? 1) > 1);
  if (!begun && !blank && !torn)
    throw corrupt(0, "the header is damaged, or the file belongs to another history");
}
