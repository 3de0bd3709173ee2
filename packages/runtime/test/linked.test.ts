import * as fc from "fast-check";
import { expect, test } from "vitest";
import { type Linked, LinkedList } from "../src/linked.ts";

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
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
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
