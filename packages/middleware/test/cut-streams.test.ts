import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { linearPattern } from "@ravi/middleware";
import { PATIENCE, RUNS } from "./support.ts";
import { BUILT_IN, redactionOf } from "../src/text/redactor.ts";
import { readEscapes, readJson } from "../src/text/scan/escapes.ts";
import { filterWhole, type TextFilter } from "../src/text/filter.ts";
import { readPlain } from "../src/text/clean/plain.ts";
import { viewFilter } from "../src/text/clean/view.ts";

const redaction = redactionOf("test", {});
const redact = (text: string, json = false): string => redaction.whole(text, new Map(), json);

/** Texts made of what detectors look for, whole and broken. */
const pieces = fc.constantFrom(
  ...'a b1 @ . - + ( ) 4 0 : :: / \\ " \n % _ é ＠ ． １ － \u00a0 \u2011 ٤ ü ж 😀'.split(" "),
  ..." alice@example.com 4111111111111111 4111 1111- 192.168.0.1 fe80::1 2001:db8:: +49 171 1234567 (415) 555-2671 alice%40example.com %40".split(
    " ",
  ),
  ..."DE89 3704 0044 0532 0130 00 sk-proj-abcdefghij1234567890 AKIA Bearer bearer IOSFODNN7EXAMPLE xoxb- eyJhbGciOiJIUzI1NiJ9 .eyJ".split(
    " ",
  ),
  "-----BEGIN RSA PRIVATE KEY-----",
  "-----END RSA PRIVATE KEY-----",
  "\nMIIE+/=",
  "\n  MIIEvQIBADANBgkqhkiG9w0\n\t-----END",
  " ",
  "\\n",
  "\\u0041",
  "\\u0040",
  "\\/",
  "\\\\",
);
const texts = fc
  .array(fc.oneof({ weight: 6, arbitrary: pieces }, { weight: 1, arbitrary: fc.string({ maxLength: 5 }) }), {
    maxLength: 30,
  })
  .map((list) => list.join(""));

/** The text in parts, cut at the given places. */
function cut(text: string, places: readonly number[]): string[] {
  const sorted = [
    0,
    ...places.map((place) => place % (text.length + 1)).toSorted((a, b) => a - b),
    text.length,
  ];
  return sorted.slice(1).map((end, at) => text.slice(sorted[at], end));
}

/** The text in a list of one; throws where there is none. */
function readOne(json: string): string {
  const list: unknown = JSON.parse(json);
  if (Array.isArray(list) && typeof list[0] === "string") return list[0];
  throw new Error(`no text in a list: ${json}`);
}

function splitProperty(make: (json: boolean) => TextFilter) {
  return fc.property(texts, fc.array(fc.nat(), { maxLength: 40 }), fc.boolean(), (text, places, json) => {
    const filter = make(json);
    const parts = cut(text, places).map((part) => filter.push(part));
    return parts.join("") + filter.end() === filterWhole(make(json), text);
  });
}

describe("R27: a stream is redacted like the whole, however it is cut", () => {
  it("R27: random cuts of random texts, plain and JSON", PATIENCE, () => {
    fc.assert(
      splitProperty((json) => redaction.filter(new Map(), json)),
      { numRuns: RUNS(1_500, 100_000) },
    );
  });

  it("R27: random cuts with own texts and expressions", PATIENCE, async () => {
    const own = redactionOf("test", {
      patterns: [
        { name: "TWO", text: "a@" },
        { name: "PATH", text: "\\n" },
        { name: "ENDS", text: "b1\\" },
        await linearPattern("LETTERS", /[ab]+1?/),
      ],
    });
    fc.assert(
      splitProperty((json) => own.filter(new Map(), json)),
      { numRuns: RUNS(500, 20_000) },
    );
  });

  it("R27: random cuts with own texts that begin and end in escapes", PATIENCE, () => {
    const own = redactionOf("test", {
      patterns: ["\\n", "b1\\", "\\", "n", '"', "u004", "@\n", "a\\/"].map((text) => ({ name: "OWN", text })),
    });
    fc.assert(
      splitProperty((json) => own.filter(new Map(), json)),
      { numRuns: RUNS(1_500, 100_000) },
    );
  });

  it("R27: an own text that ends in what could become an escape", () => {
    const own = redactionOf("test", { patterns: [{ name: "OWN", text: "b1\\" }] });
    for (const text of ["\\b1\\4111111111111111", "\\b1\\n4111111111111111", "\\b1\\u00314111111111111111"]) {
      for (let at = 0; at <= text.length; at++) {
        const filter = own.filter(new Map());
        const out = filter.push(text.slice(0, at)) + filter.push(text.slice(at)) + filter.end();
        expect([at, out]).toEqual([at, own.whole(text, new Map())]);
      }
    }
  });

  it("R27: JSON stays JSON, however often it is encoded, read as JSON or as a text", PATIENCE, () => {
    fc.assert(
      fc.property(texts, fc.integer({ min: 1, max: 4 }), fc.boolean(), (text, depth, json) => {
        let encoded = JSON.stringify([text]);
        for (let at = 1; at < depth; at++) encoded = JSON.stringify([encoded]);
        for (let at = 0, clean = redact(encoded, json); at < depth; at++) clean = readOne(clean);
      }),
      { numRuns: RUNS(1_500, 100_000) },
    );
  });

  it("R27: every single cut, and character by character", () => {
    const text =
      "x alice@example.com 4111 1111 1111 1111 fe80::1 DE89 3704 0044 0532 0130 00 +49 171 1234567 Bearer abcdefghij1234567890== eyJhbGciOiJIUzI1NiJ9.eyJzdWIi.x sk-proj-abcdefghij1234567890 end";
    const whole = redact(text);
    for (let at = 0; at <= text.length; at++) {
      const filter = redaction.filter(new Map());
      expect(filter.push(text.slice(0, at)) + filter.push(text.slice(at)) + filter.end()).toBe(whole);
    }
    const filter = redaction.filter(new Map());
    expect(Array.from(text, (char) => filter.push(char)).join("") + filter.end()).toBe(whole);
  });

  it("R27: what is held back is bounded: a word, or what a detector still hopes for", () => {
    const filter = redaction.filter(new Map());
    let given = 0;
    let pushed = 0;
    for (const char of "The quick brown fox, who is 12 years old, lives at 10 Downing Street. ".repeat(20)) {
      given += filter.push(char).length;
      pushed++;
      expect(pushed - given).toBeLessThan(24);
    }
    for (const { kind, starts } of BUILT_IN) {
      const worst = redaction.filter(new Map());
      let held = 0;
      for (const char of starts.charAt(0) + "a1".repeat(2_000)) held += 1 - worst.push(char).length;
      expect([kind, held < 700]).toEqual([kind, true]);
    }
  });

  it("R27: the property bites: a filter that judges each part by itself fails it", () => {
    const perPart = (json: boolean): TextFilter => ({ push: (text) => redact(text, json), end: () => "" });
    expect(() => fc.assert(splitProperty(perPart), { numRuns: 1_500 })).toThrow(/Property failed/);
    const shortTail = (json: boolean): TextFilter => {
      let held = "";
      const flush = (keep: number): string => {
        const ready = held.slice(0, Math.max(0, held.length - keep));
        held = held.slice(ready.length);
        return redact(ready, json);
      };
      return { push: (text) => ((held += text), flush(8)), end: () => flush(0) };
    };
    expect(() => fc.assert(splitProperty(shortTail), { numRuns: 1_500 })).toThrow(/Property failed/);
  });
});

describe("R27: a content filter lets the same out, however a stream is cut", () => {
  const said = fc
    .array(
      fc.constantFrom(
        ..."a b c ab \u0301 \u200b ｶ ﾞ \u1100 \u1161 😀 ﬁ \\n \\u0301 \\ \ud83d \u{e0061} \udb40 \u{16d67}".split(
          " ",
        ),
        " ",
      ),
      {
        maxLength: 120,
      },
    )
    .map((list) => list.join(""));

  it("R27: views of a text read in parts make the same as the whole", PATIENCE, () => {
    for (const read of [readJson, readEscapes, readPlain]) {
      fc.assert(
        fc.property(said, fc.array(fc.nat(), { maxLength: 20 }), (text, places) => {
          const seen: string[] = [];
          const inner: TextFilter = { push: (part) => (seen.push(part), part), end: () => "" };
          const filter = viewFilter(read, inner);
          const out = cut(text, places).map((part) => filter.push(part));
          expect(out.join("") + filter.end()).toBe(text);
          expect(seen.join("")).toBe(read(text, true).text);
        }),
        { numRuns: RUNS(500, 20_000) },
      );
    }
  });
});
