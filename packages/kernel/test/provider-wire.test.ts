import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  headerText,
  lowerCased,
  OversizedAnswer,
  refuseRedirect,
  retryAfterMs,
  type ServerEvent,
  serverEvents,
  shortRefusal,
  UnusableAnswer,
} from "@ravi/kernel/provider";
import { incomplete, parseAnswer, parseEvent } from "../src/provider/answer-text.ts";
import { looksStreamed } from "../src/provider/streamed.ts";

const RUNS = process.env["RAVI_LONG"] ? 20_000 : 300;

const headers = (given: Readonly<Record<string, string>>) => ({ get: (name: string) => given[name] ?? null });

function readAll(pieces: readonly string[], maxLength = 1_000): ServerEvent[] {
  const reader = serverEvents(maxLength);
  return [...pieces.flatMap((piece) => reader.push(piece)), ...reader.end()];
}

describe("T10: Retry-After", () => {
  const NOW = Date.parse("2026-01-01T00:00:00Z");
  test.each<[string, Record<string, string>, number | undefined]>([
    ["seconds", { "retry-after": "7" }, 7_000],
    ["parts of a second", { "retry-after": "0.25" }, 250],
    ["seconds between blanks", { "retry-after": " 7 " }, 7_000],
    ["milliseconds, which count first", { "retry-after-ms": "1500", "retry-after": "7" }, 1_500],
    ["milliseconds that cannot be read", { "retry-after-ms": "soon", "retry-after": "7" }, 7_000],
    ["a date", { "retry-after": "Thu, 01 Jan 2026 00:00:30 GMT" }, 30_000],
    ["a date of the older kind", { "retry-after": "Thursday, 01-Jan-26 00:00:30 GMT" }, 30_000],
    [
      "a date of a server whose clock is an hour ahead of this one",
      { "retry-after": "Thu, 01 Jan 2026 01:00:30 GMT", date: "Thu, 01 Jan 2026 01:00:00 GMT" },
      30_000,
    ],
    [
      "a date, beside one that cannot be read",
      { "retry-after": "Thu, 01 Jan 2026 00:00:30 GMT", date: "just now" },
      30_000,
    ],
    ["a date that has passed", { "retry-after": "Wed, 21 Oct 2015 07:28:00 GMT" }, 0],
    ["a negative number", { "retry-after": "-5" }, undefined],
    ["garbage", { "retry-after": "soon" }, undefined],
    ["garbage that ends like a date", { "retry-after": "Some, other thing GMT" }, undefined],
    ["an endless number", { "retry-after": "1e400" }, undefined],
    ["nothing", {}, undefined],
  ])("T10: as %s", (_, given, expected) => {
    expect(retryAfterMs(headers(given), NOW)).toBe(expected);
  });

  test("T10: no headers say nothing", () => expect(retryAfterMs(undefined, NOW)).toBeUndefined());
});

describe("a refusal that is cut short", () => {
  const bytes = (...pieces: readonly Uint8Array[]) =>
    new ReadableStream<Uint8Array>({
      start(stream) {
        for (const piece of pieces) stream.enqueue(piece);
        stream.close();
      },
    });

  test("it keeps its status, headers and text, whose letters may be cut anywhere", async () => {
    const text = new TextEncoder().encode("zu viele Wörter");
    const body = bytes(text.subarray(0, 11), text.subarray(11));
    const kept = await shortRefusal(
      new Response(body, { status: 429, headers: { "retry-after": "3" } }),
      Response,
    );
    expect([kept.status, kept.headers.get("retry-after")]).toEqual([429, "3"]);
    expect(await kept.text()).toBe("zu viele Wörter");
  });

  test("an endless body is read up to 64 KB, and then cancelled", async () => {
    let cancelled = 0;
    const body = new ReadableStream<Uint8Array>({
      pull: (stream) => stream.enqueue(new Uint8Array(40 * 1024).fill(120)),
      cancel: () => void cancelled++,
    });
    const kept = await shortRefusal(new Response(body, { status: 500 }), Response);
    expect((await kept.text()).length).toBe(80 * 1024);
    expect(cancelled).toBe(1);
  });

  test("of a body that breaks off, the text before it is kept", async () => {
    let isFirst = true;
    const body = new ReadableStream<Uint8Array>({
      pull(stream) {
        if (isFirst) stream.enqueue(new TextEncoder().encode("overl"));
        else stream.error(new Error("reset"));
        isFirst = false;
      },
    });
    const kept = await shortRefusal(new Response(body, { status: 503 }), Response);
    expect(await kept.text()).toBe("overl");
  });

  test("it may have a status that the class refuses, no body, or another text", async () => {
    const odd = Object.defineProperty(new Response("busy"), "status", { value: 999 });
    const kept = await shortRefusal(odd, Response, (text) => text.toUpperCase());
    expect([kept.status, kept.ok, await kept.text()]).toEqual([999, false, "BUSY"]);
    const unchanged = await shortRefusal(new Response(null, { status: 304 }), Response);
    expect([unchanged.status, unchanged.body]).toEqual([304, null]);
  });
});

test("T10: a redirect is refused and its body is left unread, also if its status is hidden", () => {
  let cancelled = 0;
  const body = new ReadableStream({ cancel: () => void cancelled++ });
  for (const status of [200, 304, 400, 500]) refuseRedirect({ status, headers: {}, body });
  expect(cancelled).toBe(0);
  expect(() => refuseRedirect({ status: 307, headers: {}, body })).toThrow("the server redirects (307);");
  expect(() => refuseRedirect({ status: 0, headers: {}, body: null })).toThrow("the server redirects;");
  expect(cancelled).toBe(1);
});

describe("T10: server-sent events", () => {
  test.each<[string, string, ServerEvent[]]>([
    ["LF", "data: a\n\ndata: b\n\n", [event("a"), event("b")]],
    ["CRLF", "data: a\r\n\r\ndata: b\r\n\r\n", [event("a"), event("b")]],
    ["CR", "data: a\r\rdata: b\r\r", [event("a"), event("b")]],
    ["a name", "event: ping\ndata: a\n\ndata: b\n\n", [event("a", "ping"), event("b")]],
    ["no space after the colon", "data:a\n\n", [event("a")]],
    ["one blank that belongs to the data", "data:  a\n\n", [event(" a")]],
    ["data over several lines", "data: a\ndata: b\n\n", [event("a\nb")]],
    ["a field without a colon", "data\n\n", [event("")]],
    ["comments and fields that mean nothing", ": here\nid: 1\nretry: 5\ndata: a\n\n", [event("a")]],
    ["a name without data", "event: ping\n\ndata: a\n\n", [event("a")]],
    ["no empty line at the end", "data: a", [event("a")]],
    ["nothing", "", []],
  ])("T10: with %s, whole or letter by letter", (_, text, expected) => {
    expect(readAll([text])).toEqual(expected);
    expect(readAll(text.split(""))).toEqual(expected);
  });

  test("T10: cut anywhere, they are the same", () => {
    const line = fc.oneof(
      fc.string({ maxLength: 8 }).map((text) => `data: ${text.replaceAll(/[\r\n]/g, "")}`),
      fc.constantFrom("", "event: x", ": ping", "data", "id: 1"),
    );
    const text = fc
      .array(fc.tuple(line, fc.constantFrom("\n", "\r\n", "\r")), { maxLength: 20 })
      .map((lines) => lines.flat().join(""));
    fc.assert(
      fc.property(text, fc.array(fc.nat(200), { maxLength: 10 }), (whole, cuts) => {
        const places = [0, ...cuts.map((cut) => Math.min(cut, whole.length)), whole.length].toSorted(
          (a, b) => a - b,
        );
        const pieces = places.slice(1).map((end, at) => whole.slice(places[at], end));
        expect(readAll(pieces)).toEqual(readAll([whole]));
      }),
      { numRuns: RUNS },
    );
  });

  test("T10: a line, and an event of many lines, may be no longer than they may", () => {
    expect(readAll(["data: 1234\n\n"], 10)).toEqual([event("1234")]);
    expect(() => readAll(["data: 12345\n\n"], 10)).toThrow(OversizedAnswer);
    expect(() => readAll(["data: ", "12345"], 10)).toThrow(OversizedAnswer);
    expect(() => readAll(["data: a\n", "data: b\n"], 10)).toThrow("longer than 10 bytes");
  });

  test("T10: signs of life may come for ever", () => {
    const reader = serverEvents(10);
    for (let sent = 0; sent < 100; sent++) expect(reader.push(": ping\n")).toEqual([]);
    expect(reader.push("data: a\n\n")).toEqual([event("a")]);
  });

  function event(data: string, name = ""): ServerEvent {
    return { name, data };
  }
});

describe("T10: an answer that is none", () => {
  test.each([
    ["an empty body", " "],
    ["a body that is not JSON", "<html>"],
  ])("T10: %s is told without its words", (what, text) => {
    const read = (): unknown => parseAnswer(text, headers({ "content-type": "text/html; charset=utf-8" }));
    const advice = "a web page: check that baseURL is the address of the API";
    expect(read).toThrow(new UnusableAnswer(`the server answered with ${what} (text/html, ${advice})`));
    const plain = (): unknown => parseAnswer(text, headers({ "content-type": "text/plain" }));
    expect(plain).toThrow(new UnusableAnswer(`the server answered with ${what} (text/plain)`));
  });

  test("T10: so is an event, and a stream that is cut short", () => {
    expect(() => parseEvent("{", false)).toThrow(
      new UnusableAnswer("the stream contains an event that is not JSON"),
    );
    expect(incomplete(headers({}))).toMatchObject({
      message: "the stream ended before the answer was complete",
    });
  });

  test("T10: a damaged event after the end of the answer is empty", () => {
    expect([parseEvent("{", true), parseEvent('{"a":1}', true)]).toEqual([{}, { a: 1 }]);
  });

  test("JSON is read, `null` too", () => {
    expect([parseAnswer("null", headers({})), parseEvent('{"a":1}', false)]).toEqual([null, { a: 1 }]);
  });
});

describe("headers", () => {
  test("take an agent's name in any script, and half a character", () => {
    expect(headerText("run/研究/1")).toBe("run/%E7%A0%94%E7%A9%B6/1");
    expect(headerText("a\ud800\n")).toBe("a%EF%BF%BD%0A");
    // As ids of two users may be.
    const ids = ["é", "%C3%A9", "%25C3%A9", "a", " a", "a ", "%20a", "a\u00a0"];
    expect(new Set(ids.map((id) => new Headers({ key: headerText(id) }).get("key"))).size).toBe(ids.length);
  });

  test("are spelt one way", () => {
    expect(lowerCased({ "X-Api-Key": "a", other: "b" })).toEqual({ "x-api-key": "a", other: "b" });
    expect(lowerCased(undefined)).toEqual({});
  });
});

describe("T10: whether an answer is a stream", () => {
  const JSON_TYPE = headers({ "content-type": "application/json" });
  const STREAM_TYPE = headers({ "content-type": "text/event-stream; charset=utf-8" });

  test.each(["data:", "event:", "id:", "retry:", ":"])(
    "is told by %j at its beginning, whatever its content type, and not before all of that has come",
    (beginning) => {
      expect(looksStreamed(`${beginning} 1`, JSON_TYPE, false)).toBe(true);
      for (const type of [JSON_TYPE, STREAM_TYPE])
        expect(looksStreamed(beginning.slice(0, -1), type, false)).toBe(undefined);
    },
  );

  test.each(["", "dat", "dates", "<html>"])("is told by its content type if it is only %j", (text) => {
    expect(looksStreamed(text, JSON_TYPE, true)).toBe(false);
    expect(looksStreamed(text, STREAM_TYPE, true)).toBe(true);
  });

  test.each(["{", "["])("is no if it begins with %j, whatever its content type", (text) => {
    for (const isEnded of [true, false]) expect(looksStreamed(text, STREAM_TYPE, isEnded)).toBe(false);
  });
});
