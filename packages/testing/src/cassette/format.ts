import { readFileSync } from "node:fs";
import {
  InvalidValueError,
  type ModelEvent,
  type ModelInfo,
  type ModelRequest,
  type ModelResponse,
  type SerializedError,
} from "@ravi/kernel";
import { hasCode } from "@ravi/kernel/loop";
import { field, tryParse } from "@ravi/kernel/provider";

/** A client whose calls are in the file. Written before its first call. */
interface ClientLine {
  readonly type: "client";
  readonly id: string;
  readonly info: ModelInfo;
  readonly streams: boolean;
}

/** One recorded call: the request and what came of it, readable and editable by a person. */
export interface CallLine {
  readonly type: "call";
  /** The id of the client. */
  readonly client: string;
  /** The order in which the client's calls began, from 1. Lines are in the order in which calls ended. */
  readonly n: number;
  readonly request: ModelRequest;
  /** The answer of a call that was not streamed. */
  readonly response?: ModelResponse | undefined;
  /** The events of a stream, in order, up to its finish or its failure. */
  readonly events?: readonly ModelEvent[] | undefined;
  /** Why the call failed. */
  readonly error?: SerializedError | undefined;
}

/** A line of the file. */
export type CassetteLine = ClientLine | CallLine;

/** The contents of a cassette file. */
export interface Cassette {
  readonly lines: readonly CassetteLine[];
  /** The number of bytes in whole lines. What follows was cut off by a crash. */
  readonly wholeBytes: number;
  readonly bytes: number;
  /** Whether the last line is complete but has no newline, as some editors leave it. */
  readonly endsOpen: boolean;
}

/**
 * Reads a cassette; undefined if there is no such file. A last line that was cut off is left out; any other damage throws an
 * error that names the line.
 */
export function readCassette(file: string): Cassette | undefined {
  if (typeof file !== "string" || file === "")
    throw new InvalidValueError({ field: "cassette", value: file, expected: "the path of a file" });
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (cause) {
    if (hasCode(cause, "ENOENT")) return undefined;
    throw new InvalidValueError({
      field: "cassette",
      value: file,
      expected: "a file that can be read",
      cause,
    });
  }
  const ended = bytes.lastIndexOf(0x0a) + 1;
  const endsOpen = isLine(tryParse(textIn(bytes.subarray(ended))));
  const wholeBytes = endsOpen ? bytes.length : ended;
  const lines = textIn(bytes.subarray(0, wholeBytes))
    .split("\n")
    .flatMap((line, index) => (line.trim() === "" ? [] : [parseLine(line, file, index + 1)]));
  return { lines, wholeBytes, bytes: bytes.length, endsOpen };
}

/** Without the byte order mark that some editors put in front. */
function textIn(bytes: Buffer): string {
  return bytes.toString("utf8").replace(/^\u{feff}/u, "");
}

function parseLine(text: string, file: string, number: number): CassetteLine {
  const value = tryParse(text);
  if (isLine(value)) return value;
  const expected =
    'a recording: one line of JSON with type "client", or "call" with a request and its result; record the cassette again';
  throw new InvalidValueError({ field: `${file}:${number}`, value: text.slice(0, 80), expected });
}

function isLine(value: unknown): value is CassetteLine {
  const type = field(value, "type");
  if (type === "client") return typeof field(value, "id") === "string" && field(value, "info") !== undefined;
  const isCall = type === "call" && field(value, "client") !== undefined;
  return isCall && Array.isArray(field(field(value, "request"), "messages")) && isTold(value);
}

/** Whether the call has an outcome: an answer, events or a failure. */
function isTold(call: unknown): boolean {
  const response = field(call, "response");
  if (response !== undefined) return field(response, "message") !== undefined;
  const events = field(call, "events");
  return events === undefined ? field(call, "error") !== undefined : Array.isArray(events);
}
