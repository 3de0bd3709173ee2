import { UnusableAnswer } from "../failure/facts.ts";

/** The JSON of an answer that is not streamed. */
export function parseAnswer(text: string, headers: Headers): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Without its cause, which quotes a piece of the body: half a key is no longer recognised as one.
    const what = text.trim() === "" ? "an empty body" : "a body that is no JSON";
    throw new UnusableAnswer(`the server answered with ${what}${kindOf(headers)}`);
  }
}

/** The JSON of one event; what comes under the name `error` is one, whatever it looks like. */
export function parseEvent(name: string, data: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch {
    throw new UnusableAnswer("the stream holds an event that is no JSON");
  }
  return name === "error" && !(typeof value === "object" && value !== null && "error" in value)
    ? { error: value }
    : value;
}

function kindOf(headers: Headers): string {
  const type = /^[\w.+/-]{1,60}/.exec(headers.get("content-type") ?? "")?.[0];
  return type === undefined ? "" : ` (${type})`;
}

/** A stream that is over, although the server has not said why its answer ended. */
export function incomplete(headers: Headers): UnusableAnswer {
  return new UnusableAnswer(`the stream ended before its answer did${kindOf(headers)}`);
}
