import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { deepFreeze, InvalidValueError, parseJson } from "@ravi/kernel";

const nested = (depth: number, open = "[", close = "]"): string => open.repeat(depth) + close.repeat(depth);

describe("T11: JSON from outside", () => {
  test("T11: what is good comes through as it is", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        const text = JSON.stringify(value);
        fc.pre(!text.includes("__proto__"));
        expect(parseJson(text, "arguments")).toEqual(JSON.parse(text));
      }),
    );
  });

  test.each([
    ["64 deep", nested(64), true],
    ["65 deep", nested(65), false],
    ["5,000 deep", nested(5_000), false],
    ["1,000,000 deep, within the length", nested(499_999), false],
    ["1,000,000 deep, never closed", "[".repeat(999_999), false],
    ["65 deep in objects", '{"a":'.repeat(65) + "1" + "}".repeat(65), false],
    ["brackets in a string", JSON.stringify("[".repeat(500)), true],
    ["brackets behind an escaped quote", JSON.stringify('"\\"' + "{[".repeat(500)), true],
    ["1 MB", JSON.stringify("x".repeat(999_998)), true],
    ["above 1 MB", JSON.stringify("x".repeat(999_999)), false],
    ["10 MB", JSON.stringify("x".repeat(10_000_000)), false],
    ["1,000,000 keys", `{${Array.from({ length: 1_000_000 }, (_, n) => `"k${n}":1`).join(",")}}`, false],
  ])("T11: %s", (_, text, fits) => {
    if (fits) expect(parseJson(text, "arguments")).toEqual(JSON.parse(text));
    else expect(() => parseJson(text, "arguments")).toThrow(InvalidValueError);
  });

  test.each([
    '{"__proto__":0}',
    '{"__proto__":{"polluted":true}}',
    '{"a":[{"\\u005f_proto__":{"polluted":true}}]}',
  ])("T11: %s reaches no prototype", (text) => {
    expect(() => parseJson(text, "arguments")).toThrow("no key named __proto__");
    expect({}).not.toHaveProperty("polluted");
  });

  test("T11: other odd keys and values are data", () => {
    const text = '{"constructor":1,"then":2,"toJSON":3,"n":1e400,"s":"\\ud800"}';
    expect(Object.entries(parseJson(text, "arguments") as object)).toEqual([
      ["constructor", 1],
      ["then", 2],
      ["toJSON", 3],
      ["n", Infinity],
      ["s", "\ud800"],
    ]);
    expect({}.constructor).toBe(Object);
  });

  test("T11: broken JSON is refused with its field and its beginning", () => {
    expect(() => parseJson('{"q": "weath', "arguments")).toThrow(
      /^arguments is "\{\\"q\\": \\"weath"; expected valid JSON \(/,
    );
    expect(() => parseJson(`[${"1,".repeat(400)}`, "arguments")).toThrow(InvalidValueError);
  });
});

test("deepFreeze freezes all that a value holds", () => {
  const value = deepFreeze({ a: [{ b: 1 }], c: null });
  expect(Object.isFrozen(value.a) && Object.isFrozen(value.a[0])).toBe(true);
});
