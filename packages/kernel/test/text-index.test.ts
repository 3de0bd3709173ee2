import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Indexed, TextIndex } from "@ravi/kernel/loop";

interface Item extends Indexed<Item> {
  readonly value: number;
}

/** Few, long and short, that begin and end alike: many of them share a number. */
const texts = fc.oneof(
  fc.constantFrom("", "a", "b", "\0", "\0\0"),
  fc
    .tuple(fc.constantFrom("", "middle", "centre"), fc.constantFrom(40, 32))
    .map(([middle, ends]) => "x".repeat(ends) + middle + "y".repeat(ends)),
  fc.nat(30).map(String),
);

/** Each of a pair gives the same FNV number as the other, after either of all before it. Found by trying, which takes seconds. */
const PAIRS = [
  ["0175zx", "01epcd"],
  ...Array.from({ length: 11 }, (_, at) => (at % 2 === 0 ? ["0053zx", "00cpad"] : ["0035zx", "00apcd"])),
];

describe("an index by texts", () => {
  test("R24: finds what a map finds, whatever was added and taken out before", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.boolean(), texts), { maxLength: 60, size: "max" }), (steps) => {
        const index = new TextIndex<Item>();
        const map = new Map<string, Item>();
        for (const [value, [isAdded, text]] of steps.entries()) {
          const there = map.get(text);
          expect(index.get(text)).toBe(there);
          if (there !== undefined && !isAdded) {
            index.delete(there);
            map.delete(text);
          } else if (there === undefined && isAdded) {
            const item: Item = { text, value };
            index.add(item);
            map.set(text, item);
          }
        }
        for (const [, text] of steps) expect(index.get(text)).toBe(map.get(text));
        expect(index.size).toBe(map.size);
      }),
    );
  });

  test("R24: texts with the same ends, the same length and another middle are kept apart, and taken out one by one", () => {
    const index = new TextIndex<Item>();
    const items = ["aa", "bb", "cc"].map((middle, value): Item => {
      return { text: "x".repeat(64) + middle + "y".repeat(64), value };
    });
    // More than a few, so that they are told apart by a number.
    for (let value = 0; value < 20; value++) index.add({ text: String(value), value });
    for (const item of items) index.add(item);
    for (const gone of [items[1], items[2], items[0]]) {
      if (gone === undefined) throw new Error("three items");
      index.delete(gone);
      expect(index.get(gone.text)).toBeUndefined();
      expect(gone.alike).toBeUndefined();
    }
    for (const item of items) index.add(item);
    expect(items.map(({ text }) => index.get(text)?.value)).toEqual([0, 1, 2]);
  });

  test("T16: ids that were chosen to share a number do not share a place", () => {
    const chosen = Array.from({ length: 2 ** PAIRS.length }, (_, value) =>
      PAIRS.map((pair, at) => pair[(value >> at) & 1]).join(""),
    );
    expect(new Set(chosen.map((text) => fnv(text.length, text))).size).toBe(1);
    const index = new TextIndex<Item>();
    for (const [value, text] of chosen.entries()) index.add({ text, value, alike: undefined });
    for (let value = 0; value < chosen.length; value += 500)
      expect(index.get(chosen[value] ?? "")?.value).toBe(value);
    expect(longestIn(Reflect.get(index, "buckets") as readonly (Item | undefined)[])).toBeLessThan(256);
  });
});

function longestIn(buckets: readonly (Item | undefined)[]): number {
  const lengths = buckets.map((first) => {
    let length = 0;
    for (let item = first; item !== undefined; item = item.alike) length++;
    return length;
  });
  return Math.max(...lengths);
}

function fnv(start: number, text: string): number {
  let number = start;
  for (let at = 0; at < text.length; at++) number = Math.imul(number ^ text.charCodeAt(at), 0x01000193);
  return number;
}
