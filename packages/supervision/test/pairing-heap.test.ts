import fc from "fast-check";
import { expect, test } from "vitest";
import { type HeapNode, PairingHeap } from "../src/headcount/pairing-heap.ts";

class Node implements HeapNode<Node> {
  readonly key: number;
  heap: PairingHeap<Node> | undefined;
  heapBack: Node | undefined;
  heapNext: Node | undefined;
  heapChild: Node | undefined;
  constructor(key: number) {
    this.key = key;
  }
}

test("a heap's top is the first of a sorted list, whatever is added and taken out in whatever order", () => {
  const move = fc.record({ add: fc.boolean(), again: fc.boolean(), at: fc.nat() });
  const moves = fc.array(move, { maxLength: 200, size: "max" });
  const property = fc.property(moves, (all) => {
    const heap = new PairingHeap<Node>((a, b) => a.key < b.key);
    const list: Node[] = [];
    const removed: Node[] = [];
    all.forEach(({ add, again, at }, unique) => {
      if (add || list.length === 0) {
        const node = (again ? removed.pop() : undefined) ?? new Node(at * 1000 + unique);
        heap.add(node);
        list.push(node);
      } else {
        const [node] = list.splice(at % list.length, 1);
        if (node !== undefined) {
          heap.remove(node);
          removed.push(node);
        }
        expect(node?.heap).toBeUndefined();
      }
      list.sort((a, b) => a.key - b.key);
      expect(heap.top).toBe(list[0]);
    });
    expect(Array.from(heap, ({ key }) => key).toSorted((a, b) => a - b)).toEqual(list.map(({ key }) => key));
  });
  fc.assert(property);
});

test("a member that moves to another heap takes nobody along", () => {
  const [first, second] = [0, 1].map(() => new PairingHeap<Node>((a, b) => a.key < b.key));
  if (first === undefined || second === undefined) throw new Error("two were made");
  const nodes = [1, 2, 3].map((key) => new Node(key));
  for (const node of nodes) first.add(node);
  const [, , last] = nodes;
  if (last === undefined) throw new Error("three were made");
  first.remove(last);
  second.add(last);
  expect([Array.from(first, ({ key }) => key), Array.from(second, ({ key }) => key)]).toEqual([[1, 2], [3]]);
});
