import { OversizedAnswer } from "./faults.ts";

/** One server-sent event. */
export interface ServerEvent {
  /** The value of the `event:` line; empty if there is none. */
  readonly name: string;
  readonly data: string;
}

/** Reads server-sent events from text in pieces, which may be cut anywhere, even between CR and LF. */
export interface ServerEventReader {
  /** Adds a piece of text and returns the events that are complete now. */
  push(text: string): readonly ServerEvent[];
  /** Ends the text. An event without the closing empty line counts too, because some servers forget it. */
  end(rest?: string): readonly ServerEvent[];
}

const LINE_BREAK = /\r\n|\n|\r/g;

/**
 * Makes a reader. An event longer than `maxLength` characters throws an `OversizedAnswer`: a line that never ends must not fill
 * the memory.
 */
export function serverEvents(maxLength: number): ServerEventReader {
  /** The pieces of the current, unfinished line. */
  const partial: string[] = [];
  let length = 0;
  /** Whether the last piece ended with CR; an LF at the start of the next one belongs to it. */
  let afterCr = false;
  let name = "";
  let data: string[] | undefined;

  const grow = (by: number): void => {
    length += by;
    if (length > maxLength) throw new OversizedAnswer("one event of the stream", maxLength);
  };
  const dispatch = (events: ServerEvent[]): void => {
    if (data !== undefined) events.push({ name, data: data.join("\n") });
    name = "";
    data = undefined;
    length = 0;
  };
  const take = (line: string, events: ServerEvent[]): void => {
    if (line === "") {
      dispatch(events);
      return;
    }
    const colon = line.indexOf(":");
    // A comment, sent to keep the connection alive.
    if (colon === 0) {
      if (data === undefined) length = 0;
      return;
    }
    const key = colon === -1 ? line : line.slice(0, colon);
    const start = line[colon + 1] === " " ? colon + 2 : colon + 1;
    const value = colon === -1 ? "" : line.slice(start);
    if (key === "data") (data ??= []).push(value);
    else if (key === "event") name = value;
    // No field of the standard. llama.cpp wrote errors so until late in 2025, and nothing else came then.
    else if (key === "error") {
      name = key;
      (data ??= []).push(value);
    }
  };
  const push = (text: string): ServerEvent[] => {
    const events: ServerEvent[] = [];
    if (text === "") return events;
    let at = afterCr && text.startsWith("\n") ? 1 : 0;
    afterCr = text.endsWith("\r");
    LINE_BREAK.lastIndex = at;
    for (let found = LINE_BREAK.exec(text); found !== null; found = LINE_BREAK.exec(text)) {
      const line = text.slice(at, found.index);
      at = LINE_BREAK.lastIndex;
      grow(line.length);
      if (partial.length === 0) take(line, events);
      else take(partial.splice(0).join("") + line, events);
    }
    if (at < text.length) {
      partial.push(text.slice(at));
      grow(text.length - at);
    }
    return events;
  };

  return {
    push,
    end(rest = "") {
      const events = push(rest);
      if (partial.length > 0) take(partial.splice(0).join(""), events);
      dispatch(events);
      return events;
    },
  };
}
