import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ChatMessage } from "@ravi/kernel";
import { Digest, nameOfText } from "../../src/context/digest.ts";

const nameOf = (value: unknown): string => new Digest().value(value).name();
const written = (value: unknown): unknown => JSON.parse(JSON.stringify({ value })).value;

describe("the name of a request", () => {
  test("R24: is the same before a value is written down and after", () => {
    expect(nameOf({ name: new Date(0) })).toBe(nameOf(written({ name: new Date(0) }) ?? null));
    fc.assert(
      fc.property(fc.anything({ withDate: true, withNullPrototype: true }), (value) => {
        expect(nameOf(value)).toBe(nameOf(written(value) ?? null));
      }),
      { numRuns: 1_000 },
    );
  });

  test("R24: has nothing in it that is only inherited, which JSON does not write", () => {
    const defaults = { temperature: 1, deep: { a: 1 } };
    for (const value of [Object.create(defaults), Object.assign(Object.create(defaults), { top: 2 })])
      for (const held of [value, [value], { value }]) expect(nameOf(held)).toBe(nameOf(written(held)));
  });

  test("R24: is another for every other value", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (one, two) => {
        const isSame = JSON.stringify(one) === JSON.stringify(two);
        expect(nameOf(one) === nameOf(two)).toBe(isSame);
      }),
      { numRuns: 2_000 },
    );
  });

  test.each<[string, unknown, unknown]>([
    ["a text and a number", "1", 1],
    ["a text and a list of it", "a", ["a"]],
    ["one text and two", ["ab"], ["a", "b"]],
    ["another cut", ["ab", "c"], ["a", "bc"]],
    ["an empty list and an empty object", [], {}],
    ["null and false", null, false],
    ["an empty text and none", { a: "" }, {}],
    ["what is inside and what comes after", { a: { b: 1 } }, { a: {}, b: 1 }],
    ["a field and its number", { role: 1 }, { content: 1 }],
    ["zeros at the end", "a", "a\0"],
    ["the order of characters", "ab".repeat(20), "ba".repeat(20)],
    ["characters that differ in their upper half", "\u0161", "a"],
    ["a lone half of a pair", "\ud800", "\udc00"],
    [
      "long texts that differ in the middle",
      `${"x".repeat(600)}a${"x".repeat(600)}`,
      `${"x".repeat(600)}b${"x".repeat(600)}`,
    ],
    ["long texts with a lone half of a pair", `${"x".repeat(600)}\ud800`, `${"x".repeat(600)}\udc00`],
    ["long texts of another length", "x".repeat(600), "x".repeat(601)],
    ["the last that is short and the first that is long", "x".repeat(64), "x".repeat(65)],
    ["long texts that differ after the first 16 kB", `${"é".repeat(9_000)}a`, `${"é".repeat(9_000)}b`],
    ["long texts that differ in their last zeros", `${"x".repeat(100)}\0`, "x".repeat(100)],
    [
      "long texts that differ in where a zero stands, at the ends of what is encoded together",
      `${"x".repeat(16_383)}é${"x".repeat(16_381)}\0é`,
      `${"x".repeat(16_383)}\0é${"x".repeat(16_381)}é`,
    ],
    ["a long text and one that was cut before it", ["x".repeat(100), ""], ["", "x".repeat(100)]],
  ])("R24: tells apart %s", (_, one, two) => {
    expect(nameOf(one)).not.toBe(nameOf(two));
  });

  test("R24: no two of 200,000 texts that differ in one place share one", () => {
    const names = new Set<string>();
    for (let n = 0; n < 100_000; n++) {
      names.add(nameOf(`call_${n}`));
      names.add(nameOf({ role: "tool", content: "x".repeat(n % 50) + String(n) }));
    }
    expect(names.size).toBe(200_000);
  });

  test("R24: nor do any two lists of truths, which have no letters in them", () => {
    const names = new Set<string>();
    for (let n = 0; n < 1 << 17; n++)
      names.add(nameOf(Array.from({ length: 17 }, (_, bit) => (n >> bit) % 2 === 1)));
    expect(names.size).toBe(1 << 17);
  });

  test.each([30, 31, 32, 33, 34])(
    "R24: %i levels down a value is what JSON makes of it, and nothing else",
    (levels) => {
      const deep = (value: unknown, left = levels): unknown => (left === 0 ? value : [deep(value, left - 1)]);
      const listed = Object.assign([1], { toJSON: () => "listed" });
      for (const value of [
        new Date(0),
        { toJSON: () => 5 },
        { toJSON: () => undefined },
        listed,
        [undefined],
        { a: undefined },
      ])
        expect(nameOf(deep(value))).toBe(nameOf(written(deep(value))));
      expect(nameOf(deep("[1]"))).not.toBe(nameOf(deep([1])));
    },
  );

  test("R24: every letter of it depends on every character", () => {
    const text = "The quick brown fox jumps over the lazy dog";
    const name = nameOf(text);
    const differs = Array.from(name, () => 0);
    for (let at = 0; at < text.length; at++) {
      const other = nameOf(`${text.slice(0, at)}#${text.slice(at + 1)}`);
      for (let place = 0; place < name.length; place++)
        if (other[place] !== name[place]) differs[place] = (differs[place] ?? 0) + 1;
    }
    // One letter of 64 stays as it is by chance.
    expect(Math.min(...differs)).toBeGreaterThan(text.length * 0.8);
  });

  test("R24: a long text has one name, however it was put together and whatever was named before it", () => {
    const parts = Array.from({ length: 3_000 }, (_, n) => `${n} äöü ☃ 🙂;`);
    const text = parts.join("");
    const name = nameOf(text);
    nameOf("z".repeat(70_000));
    let rope = "";
    for (const part of parts) rope += part;
    expect(nameOf(rope)).toBe(name);
    expect(nameOf(JSON.parse(JSON.stringify(text)))).toBe(name);
    const names = new Set(Array.from({ length: 40 }, (_, n) => nameOf(text.slice(0, 16_370 + n))));
    expect(names.size).toBe(40);
  });

  test("R24: it stays what it was: journals outlive the program that wrote them", () => {
    expect(nameOf([{ role: "user", content: "go", n: [1.5, true, null] }])).toMatchInlineSnapshot(
      `"z0ZjOECy6TJlYI9bP8H3"`,
    );
    expect(nameOfText("a text that is longer than the name it gets")).toMatchInlineSnapshot(
      `"ZW43qSxqXVtk17AHZYWA"`,
    );
    expect(nameOf("long ".repeat(200))).toMatchInlineSnapshot(`"ziU5kNxdGXI-KkJzBgRC"`);
    expect(nameOf("x".repeat(64))).toMatchInlineSnapshot(`"8q11z8Cuuwl3VMDd_z1e"`);
    expect(nameOf("x".repeat(65))).toMatchInlineSnapshot(`"jEPfPpbdvRL_wzTSqllA"`);
    expect(nameOfText("short")).toBe("short");
  });

  test("T11: a value that contains itself is refused by what JSON says of it; one that is deep is not", () => {
    const loop: Record<string, unknown> = {};
    loop["self"] = loop;
    expect(() => nameOf(loop)).toThrow(/circular/);
    const deep = (levels: number): unknown => (levels === 0 ? "bottom" : [deep(levels - 1)]);
    expect(nameOf(deep(500))).not.toBe(nameOf(deep(501)));
    expect(nameOf(deep(500))).toBe(nameOf(deep(500)));
    expect(() => nameOf({ n: 1n })).toThrow(TypeError);
  });
});

describe("the name of a message", () => {
  const named = (message: ChatMessage): string => new Digest().message(message).name();
  const text = fc.string({ maxLength: 600 });
  const call = fc.record({ id: text, name: text, arguments: text });
  const message: fc.Arbitrary<ChatMessage> = fc.oneof(
    fc.record({ role: fc.constant("user" as const), content: text }),
    fc.record({ role: fc.constant("assistant" as const), content: text, toolCalls: fc.array(call) }),
    fc.record({ role: fc.constant("tool" as const), toolCallId: text, name: text, content: text }),
  );

  test("R24: is that of any value with these fields, before it is written down and after, and of no other", () => {
    fc.assert(
      fc.property(message, message, (one, two) => {
        expect(named(one)).toBe(nameOf(one));
        expect(named(one)).toBe(named(written(one) as ChatMessage));
        expect(named(one) === named(two)).toBe(JSON.stringify(one) === JSON.stringify(two));
      }),
    );
  });

  test("R24: depends on every field of every call", () => {
    const plain = { id: "a", name: "look_up", arguments: '{"n":1}' };
    const names = [
      plain,
      { ...plain, id: "b" },
      { ...plain, name: "look" },
      { ...plain, arguments: '{"n":2}' },
    ].map((changed) => named({ role: "assistant", content: "", toolCalls: [plain, changed] }));
    expect(new Set(names).size).toBe(names.length);
  });
});
