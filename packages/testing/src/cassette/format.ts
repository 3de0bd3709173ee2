import { readFileSync } from "node:fs";
import {
  InvalidValueError,
  type ModelEvent,
  type ModelInfo,
  type ModelRequest,
  type ModelResponse,
  type SerializedError,
} from "@ravi/kernel";

/** A client whose calls are in the file. Written before the first of them. */
interface ClientLine {
  readonly type: "client";
  readonly id: string;
  readonly info: ModelInfo;
  readonly streams: boolean;
}

/** One call. It holds what was asked and what came of it, so that a person can read the file, and mend it. */
export interface CallLine {
  readonly type: "call";
  readonly client: string;
  /** In which order the client's calls began, from 1. Lines stand in the order in which calls ended. */
  readonly n: number;
  readonly request: ModelRequest;
  /** Of a call that was not streamed. */
  readonly response?: ModelResponse | undefined;
  /** Of a stream, in their order, up to its finish or its failure. */
  readonly events?: readonly ModelEvent[] | undefined;
  readonly error?: SerializedError | undefined;
}

export type CassetteLine = ClientLine | CallLine;

export interface Cassette {
  readonly lines: readonly CassetteLine[];
  /** How many bytes hold whole lines. What follows was torn off by a crash. */
  readonly wholeBytes: number;
  readonly bytes: number;
  /** Its last line is whole and not ended, as some editors leave it. */
  readonly endsOpen: boolean;
}

/** Reads a cassette. A torn last line is left out; any other damage is an error that names the line. */
export function readCassette(file: string): Cassette | undefined {
  if (typeof file !== "string" || file === "")
    throw new InvalidValueError({ field: "cassette", value: file, expected: "the path of a file" });
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return undefined;
    throw new InvalidValueError({
      field: "cassette",
      value: file,
      expected: "a file that can be read",
      cause,
    });
  }
  const ended = bytes.lastIndexOf(0x0a) + 1;
  const endsOpen = isLine(parse(textIn(bytes.subarray(ended))));
  const wholeBytes = endsOpen ? bytes.length : ended;
  const lines = textIn(bytes.subarray(0, wholeBytes))
    .split("\n")
    .flatMap((line, index) => (line.trim() === "" ? [] : [parseLine(line, file, index + 1)]));
  return { lines, wholeBytes, bytes: bytes.length, endsOpen };
}

/** Some editors put a mark of the encoding in front. */
function textIn(bytes: Buffer): string {
  return bytes.toString("utf8").replace(/^\u{feff}/u, "");
}

function parseLine(text: string, file: string, number: number): CassetteLine {
  const value = parse(text);
  if (isLine(value)) return value;
  const expected =
    'a recording: one line of JSON with type "client", or "call" with a request and what came of it; record the cassette again';
  throw new InvalidValueError({ field: `${file}:${number}`, value: text.slice(0, 80), expected });
}

/** Undefined where it is not even JSON. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isLine(value: unknown): value is CassetteLine {
  if (typeof value !== "object" || value === null || !("type" in value)) return false;
  if (value.type === "client") return "id" in value && typeof value.id === "string" && "info" in value;
  if (value.type !== "call" || !("client" in value) || !("request" in value) || !isTold(value)) return false;
  const { request } = value;
  return (
    typeof request === "object" &&
    request !== null &&
    "messages" in request &&
    Array.isArray(request.messages)
  );
}

/** Something came of it: an answer, events or a failure. */
function isTold(call: object): boolean {
  if ("response" in call) {
    const { response } = call;
    return typeof response === "object" && response !== null && "message" in response;
  }
  return "events" in call ? Array.isArray(call.events) : "error" in call;
}
