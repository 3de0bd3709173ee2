import { UnusableAnswer } from "./faults.ts";
import type { HeaderSource } from "./headers.ts";
import { tryParse } from "./json.ts";

/**
 * Parses an answer that is not streamed. The error does not quote the body: a part of a key would not be recognised as a secret.
 */
export function parseAnswer(text: string, headers: HeaderSource): unknown {
  const value = tryParse(text);
  if (value !== undefined) return value;
  const what = text.trim() === "" ? "an empty body" : "a body that is not JSON";
  throw new UnusableAnswer(`the server answered with ${what}${kindOf(headers)}`);
}

/**
 * Parses one event of a stream. After the end of the answer, one that is damaged is empty instead of an error: a retry would pay for
 * the answer twice.
 */
export function parseEvent(data: string, isFinished: boolean): unknown {
  const value = tryParse(data) ?? (isFinished ? {} : undefined);
  if (value === undefined) throw new UnusableAnswer("the stream contains an event that is not JSON");
  return value;
}

/** The error for a stream that ended before the server gave a finish reason. */
export function incomplete(headers: HeaderSource): UnusableAnswer {
  return new UnusableAnswer(`the stream ended before the answer was complete${kindOf(headers)}`);
}

function kindOf(headers: HeaderSource): string {
  const type = /^[\w.+/-]{1,60}/.exec(headers.get("content-type") ?? "")?.[0];
  if (type === undefined) return "";
  const advice = type === "text/html" ? ", a web page: check that baseURL is the address of the API" : "";
  return ` (${type}${advice})`;
}
