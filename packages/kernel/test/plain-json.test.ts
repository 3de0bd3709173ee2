import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { checkPlainJson } from "@ravi/kernel";
import { bareContext } from "@ravi/kernel/loop";

const RUNS = process.env["RAVI_LONG"] ? 10_000 : 300;

describe("R24: what is written down has to be plain JSON", () => {
  test("R24: what passes is the same after it was written and read", () => {
    const property = fc.property(fc.anything({ maxDepth: 4, withDate: true, withMap: true }), (value) => {
      try {
        checkPlainJson("v", value);
      } catch {
        return;
      }
      expect(JSON.parse(JSON.stringify(value))).toStrictEqual(structuredClone(value));
    });
    fc.assert(property, { numRuns: RUNS });
  });

  test("R24: all JSON passes", () => {
    const property = fc.property(fc.json({ maxDepth: 8 }), (text) => {
      const value: unknown = JSON.parse(text);
      if (text.includes("__proto__") || text.includes("toJSON") || text.includes("-0")) return;
      expect(checkPlainJson("v", value)).toBe(value);
    });
    fc.assert(property, { numRuns: RUNS });
  });

  const cycle: { self?: unknown } = {};
  cycle.self = cycle;
  test.each([
    ["undefined", undefined, /^v is undefined/],
    ["a field that is undefined", { a: { b: undefined } }, /^v\.a\.b is undefined; expected plain JSON/],
    ["NaN", [1, Number.NaN], /^v\[1\] is NaN; expected a finite number/],
    ["a negative zero", -0, /^v is "-0"; expected 0, because JSON has no negative zero/],
    ["a big integer", 1n, /expected plain JSON/],
    ["a function", { f: () => 1 }, /^v\.f/],
    ["a symbol", Symbol("s"), /expected plain JSON/],
    ["a date", new Date(0), /not an instance of a class/],
    ["a map", { m: new Map() }, /^v\.m .*not an instance of a class/],
    ["a hole in a list", Array.from({ length: 2 }), /^v\[0\] is undefined/],
    ["something that is in itself", cycle, /without cycles/],
    ["what writes itself", { toJSON: () => 1 }, /not an object with a toJSON method/],
    ["a hostile key", JSON.parse('{"__proto__": 1}') as unknown, /no key named __proto__/],
  ])("R24: %s is refused, and the error says where", (_, value, message) => {
    expect(() => checkPlainJson("v", value)).toThrow(message);
  });

  test("R24: depth is limited", () => {
    let deep: unknown = 1;
    for (let n = 0; n < 64; n++) deep = [deep];
    expect(checkPlainJson("v", deep)).toBe(deep);
    expect(() => checkPlainJson("v", [deep])).toThrow(/fewer levels of nesting/);
  });

  test("R24: a bare context makes a fact, and refuses the same", async () => {
    const ctx = bareContext();
    expect(ctx.record("n", () => ({ a: [1, null] }))).toEqual({ a: [1, null] });
    expect(await ctx.record("n", async () => "later")).toBe("later");
    expect(() => ctx.record("n", () => Number.NaN)).toThrow(/^record n is NaN/);
    await expect(ctx.record("n", async () => Number.NaN)).rejects.toMatchObject({ code: "INVALID_VALUE" });
  });
});
