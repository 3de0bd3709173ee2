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

describe("an index by texts", () => {
  test("R24: finds what a map finds, whatever was added and taken out before", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.boolean(), texts), { maxLength: 60 }), (steps) => {
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
});
