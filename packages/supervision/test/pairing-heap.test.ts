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
  const moves = fc.array(fc.record({ add: fc.boolean(), at: fc.nat() }), { maxLength: 200, size: "max" });
  const property = fc.property(moves, (all) => {
    const heap = new PairingHeap<Node>((a, b) => a.key < b.key);
    const list: Node[] = [];
    all.forEach(({ add, at }, unique) => {
      if (add || list.length === 0) {
        const node = new Node(at * 1000 + unique);
        heap.add(node);
        list.push(node);
      } else {
        const [node] = list.splice(at % list.length, 1);
        if (node !== undefined) heap.remove(node);
        expect(node?.heap).toBeUndefined();
      }
      list.sort((a, b) => a.key - b.key);
      expect(heap.top).toBe(list[0]);
    });
    expect([...heap].toSorted((a, b) => a.key - b.key)).toEqual(list);
  });
  fc.assert(property);
});
