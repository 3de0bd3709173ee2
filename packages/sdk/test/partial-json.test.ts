import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type JsonValue, partialJson } from "@ravi/sdk";
import { anyText } from "@ravi/testing/suites";

const RUNS = process.env["RAVI_LONG"] ? 3_000 : 300;

/** Whether `part` is `whole` as far as it has come: nothing in it changes or goes away when more comes. */
function isPartOf(part: JsonValue, whole: JsonValue): boolean {
  // Half a character is no part of a text.
  if (typeof part === "string")
    return (
      typeof whole === "string" && whole.startsWith(part) && part.isWellFormed() === whole.isWellFormed()
    );
  if (typeof part !== "object" || part === null) return part === whole;
  if (typeof whole !== "object" || whole === null || Array.isArray(part) !== Array.isArray(whole))
    return false;
  const [of, from] = [Object.entries(part), Object.entries(whole)];
  return of.every(([key, value], at) => {
    const [name, other] = from[at] ?? [];
    if (key !== name || value === undefined || other === undefined) return false;
    // Only the last one is still growing.
    return at === of.length - 1 ? isPartOf(value, other) : same(value, other);
  });
}

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** Texts of one value: with and without white space, and with escapes for characters that need none. */
const texts = fc
  .tuple(
    fc.oneof(fc.json({ maxDepth: 4 }), fc.json({ maxDepth: 4, stringUnit: "binary" })),
    fc.constantFrom(0, 2, "\t"),
    fc.boolean(),
  )
  .map(([json, indent, isEscaped]) => {
    const text = JSON.stringify(JSON.parse(json), null, indent);
    if (!isEscaped) return text;
    return text.replaceAll(
      /[\u0080-\uffff]/g,
      (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
    );
  });

describe("partialJson", () => {
  test("a whole text is the value itself, and every part of it is the value as far as it has come", () => {
    fc.assert(
      fc.property(texts, (text) => {
        const whole = JSON.parse(text) as JsonValue;
        expect(partialJson(text)).toEqual(whole);
        let before: JsonValue | undefined;
        for (let end = 0; end < text.length; end++) {
          const part = partialJson(text.slice(0, end));
          // A number that stands alone is whole at every digit.
          if (typeof whole === "number") continue;
          // Of a list, an object and a string there is something from the first character on.
          const isKnown =
            end > 0 && (typeof whole === "string" || (typeof whole === "object" && whole !== null));
          expect({ end, isKnown: part !== undefined }).toEqual({ end, isKnown });
          if (part !== undefined) {
            expect({ end, isPart: isPartOf(part, whole) }).toEqual({ end, isPart: true });
            if (before !== undefined) expect(isPartOf(before, part)).toBe(true);
          }
          before = part;
        }
      }),
      { numRuns: RUNS },
    );
  });

  test("no text makes it throw", () => {
    const pieces = fc.constantFrom(
      ...'[]{}",:\\ue1-.t '.split(""),
      "true",
      "null",
      "\\u12",
      "\ud83d",
      "```json",
    );
    const any = fc.oneof(
      anyText(),
      fc.array(pieces).map((list) => list.join("")),
    );
    fc.assert(
      fc.property(any, (text) => {
        let parsed: unknown;
        try {
          parsed = JSON.parse(text);
        } catch {
          partialJson(text);
          return;
        }
        expect(partialJson(text)).toEqual(parsed);
      }),
      { numRuns: RUNS },
    );
  });

  test.each<[string, JsonValue | undefined]>([
    ["", undefined],
    ["  ", undefined],
    ["{", {}],
    ['{"na', {}],
    ['{"name"', {}],
    ['{"name":', {}],
    ['{"name":"Ac', { name: "Ac" }],
    ['{"name":"Acme"', { name: "Acme" }],
    ['{"name":"Acme",', { name: "Acme" }],
    ['{"name":"Acme","total":49', { name: "Acme" }],
    ['{"name":"Acme","total":49,', { name: "Acme", total: 49 }],
    ['{"name":"Acme","total":49 ', { name: "Acme", total: 49 }],
    ['{"paid":tru', {}],
    ['{"paid":true', {}],
    ['{"paid":true}', { paid: true }],
    ['{"a":{"b":[1,{"c":"d', { a: { b: [1, { c: "d" }] } }],
    ['["a\\', ["a"]],
    ['["a\\\\', ["a\\"]],
    ['["a\\u00e', ["a"]],
    ['["a\\u00e4', ["aä"]],
    ['["\\ud83d', [""]],
    ['["\\ud83d\\ude0', [""]],
    ['["\\ud83d\\ude00', ["😀"]],
    ['["\ud83d', [""]],
    ['["\\ud83dx', ["\ud83dx"]],
    ['["\\ud83d"]', ["\ud83d"]],
    ["[1,2", [1]],
    ["12", 12],
    ["1.", undefined],
    ["nul", undefined],
    ['"half', "half"],
    // What cannot become JSON.
    ["Sure!", undefined],
    ['Sure: {"a":1', undefined],
    ['{"a":1,}', undefined],
    ["[1 2", undefined],
    ["]", undefined],
    ['{"a":01,', undefined],
    ['{"a":1} and more', undefined],
  ])("%j", (text, value) => {
    expect(partialJson(text)).toEqual(value);
  });

  test("keys that a prototype has are plain keys", () => {
    const part = partialJson('{"__proto__":{"a":"b');
    expect(Object.keys(part as object)).toEqual(["__proto__"]);
    expect(Object.getPrototypeOf(part)).toBe(Object.prototype);
  });

  test("a text that is nested a hundred thousand levels deep", () => {
    const depth = 100_000;
    let part = partialJson("[".repeat(depth));
    let levels = 0;
    for (; Array.isArray(part); part = part[0]) levels++;
    expect(levels).toBe(depth);
  });
});
