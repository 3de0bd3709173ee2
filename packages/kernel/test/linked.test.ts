import * as fc from "fast-check";
import { expect, test } from "vitest";
import { type Linked, LinkedList } from "@ravi/kernel/loop";

class Item implements Linked<Item> {
  before: Item | undefined;
  after: Item | undefined;
  readonly name: number;

  constructor(name: number) {
    this.name = name;
  }
}

test("R8: a linked list holds what a set would hold, in the same order, and who has left leads to nobody", () => {
  const step = fc.record({ isAdded: fc.boolean(), name: fc.nat(9) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60, size: "max" }), (steps) => {
      const items = Array.from({ length: 10 }, (_, name) => new Item(name));
      const [list, set] = [new LinkedList<Item>(), new Set<Item>()];
      for (const { isAdded, name } of steps) {
        const item = items[name];
        if (item === undefined || (isAdded && set.has(item))) continue;
        if (isAdded) {
          list.add(item);
          set.add(item);
        } else {
          list.delete(item);
          set.delete(item);
          expect([item.before, item.after]).toEqual([undefined, undefined]);
        }
        expect(list.toArray()).toEqual([...set]);
        expect(list.isEmpty).toBe(set.size === 0);
        expect(list.first).toBe([...set][0]);
      }
    }),
  );
});

test("R8: all are taken at once, in their order, and lead to nobody; then there is room for them again", () => {
  const list = new LinkedList<Item>();
  const items = [new Item(1), new Item(2), new Item(3)];
  for (const item of items) list.add(item);
  expect(list.takeAll()).toEqual(items);
  expect(items.flatMap(({ before, after }) => [before, after]).filter(Boolean)).toEqual([]);
  expect([list.isEmpty, list.takeAll()]).toEqual([true, []]);
  for (const item of items.toReversed()) list.add(item);
  expect(list.toArray()).toEqual(items.toReversed());
});
