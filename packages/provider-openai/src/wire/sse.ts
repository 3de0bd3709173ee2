import { OversizedAnswer } from "./body.ts";

interface ServerEvent {
  /** What follows `event:`; empty where there is none. */
  readonly name: string;
  readonly data: string;
}

/** Server-sent events out of bytes, however they are cut. */
export interface SseDecoder {
  push(bytes: Uint8Array): readonly ServerEvent[];
  /** The body is over: what was not closed by an empty line counts too, since some servers forget it. */
  end(): readonly ServerEvent[];
}

const LINE_BREAK = /\r\n|\n|\r/g;

/** An event may be at most `maxLength` characters long: a line that never ends must not fill the memory. */
export function sseDecoder(maxLength: number): SseDecoder {
  // It joins characters that were cut, and takes a byte order mark off.
  const decoder = new TextDecoder();
  let partial: string[] = [];
  let length = 0;
  /** A CR ended the last piece; an LF that follows belongs to it. */
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
    // A comment: the server says that it is still there.
    if (colon === 0) {
      if (data === undefined) length = 0;
      return;
    }
    const field = colon === -1 ? line : line.slice(0, colon);
    const start = line[colon + 1] === " " ? colon + 2 : colon + 1;
    const value = colon === -1 ? "" : line.slice(start);
    if (field === "data") (data ??= []).push(value);
    else if (field === "event") name = value;
  };
  const feed = (text: string): ServerEvent[] => {
    const events: ServerEvent[] = [];
    if (text === "") return events;
    let at = afterCr && text.startsWith("\n") ? 1 : 0;
    afterCr = text.endsWith("\r");
    LINE_BREAK.lastIndex = at;
    for (let found = LINE_BREAK.exec(text); found !== null; found = LINE_BREAK.exec(text)) {
      const line = text.slice(at, found.index);
      grow(line.length);
      at = LINE_BREAK.lastIndex;
      if (partial.length === 0) take(line, events);
      else {
        partial.push(line);
        const whole = partial.join("");
        partial = [];
        take(whole, events);
      }
      LINE_BREAK.lastIndex = at;
    }
    if (at < text.length) {
      partial.push(text.slice(at));
      grow(text.length - at);
    }
    return events;
  };

  return {
    push: (bytes) => feed(decoder.decode(bytes, { stream: true })),
    end() {
      const events = feed(decoder.decode());
      if (partial.length > 0) take(partial.splice(0).join(""), events);
      dispatch(events);
      return events;
    },
  };
}
