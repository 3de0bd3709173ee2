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
}

/** Reads a cassette. A torn last line is left out; any other damage is an error that names the line. */
export function readCassette(file: string): Cassette | undefined {
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
  const wholeBytes = bytes.lastIndexOf(0x0a) + 1;
  const text = bytes.subarray(0, wholeBytes).toString("utf8");
  const lines = text
    .split("\n")
    .flatMap((line, index) => (line.trim() === "" ? [] : [parseLine(line, file, index + 1)]));
  return { lines, wholeBytes, bytes: bytes.length };
}

function parseLine(text: string, file: string, number: number): CassetteLine {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // Not even JSON: told below.
  }
  if (isLine(value)) return value;
  const expected = 'a recording: one line of JSON with type "client" or "call"; record the cassette again';
  throw new InvalidValueError({ field: `${file}:${number}`, value: text.slice(0, 80), expected });
}

function isLine(value: unknown): value is CassetteLine {
  if (typeof value !== "object" || value === null || !("type" in value)) return false;
  if (value.type === "client") return "id" in value && typeof value.id === "string" && "info" in value;
  if (value.type !== "call" || !("client" in value) || !("request" in value)) return false;
  const { request } = value;
  return (
    typeof request === "object" &&
    request !== null &&
    "messages" in request &&
    Array.isArray(request.messages)
  );
}
