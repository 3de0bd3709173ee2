/** A member of a heap. It carries its own links, so that it can be removed from anywhere without a search. */
export interface HeapNode<T extends HeapNode<T>> {
  /** The heap that it is in; undefined if in none. */
  heap: PairingHeap<T> | undefined;
  /** The left sibling, or for a first child the parent. */
  heapBack: T | undefined;
  heapNext: T | undefined;
  heapChild: T | undefined;
}

/**
 * A heap with O(1) `add` and amortised O(log n) `remove` of any member. A binary heap would pay log n for each hire, because the
 * newest hire is always the first in order; here it becomes the top with one comparison.
 */
export class PairingHeap<T extends HeapNode<T>> {
  top: T | undefined;
  private readonly before: (a: T, b: T) => boolean;

  constructor(before: (a: T, b: T) => boolean) {
    this.before = before;
  }

  add(node: T): void {
    node.heap = this;
    this.top = this.top === undefined ? node : this.meld(this.top, node);
  }

  remove(node: T): void {
    const orphans = this.pairUp(node.heapChild);
    if (node === this.top) {
      this.top = orphans;
    } else {
      cut(node);
      if (orphans !== undefined && this.top !== undefined) this.top = this.meld(this.top, orphans);
    }
    node.heap = undefined;
    node.heapChild = undefined;
  }

  /** All members, in no particular order. */
  *[Symbol.iterator](): Generator<T, void> {
    const open = this.top === undefined ? [] : [this.top];
    for (let node = open.pop(); node !== undefined; node = open.pop()) {
      yield node;
      if (node.heapNext !== undefined) open.push(node.heapNext);
      if (node.heapChild !== undefined) open.push(node.heapChild);
    }
  }

  /** Joins two heaps: the loser becomes the first child of the winner. */
  private meld(a: T, b: T): T {
    const bFirst = this.before(b, a);
    const winner = bFirst ? b : a;
    const loser = bFirst ? a : b;
    const first = winner.heapChild;
    loser.heapNext = first;
    if (first !== undefined) first.heapBack = loser;
    loser.heapBack = winner;
    winner.heapChild = loser;
    return winner;
  }

  /** Joins siblings two by two from the left, then the pairs from the right. This order gives the amortised O(log n). */
  private pairUp(first: T | undefined): T | undefined {
    let pairs: T | undefined;
    let node = first;
    while (node !== undefined) {
      const partner: T | undefined = node.heapNext;
      const rest: T | undefined = partner?.heapNext;
      detach(node);
      if (partner !== undefined) detach(partner);
      const pair = partner === undefined ? node : this.meld(node, partner);
      pair.heapNext = pairs;
      pairs = pair;
      node = rest;
    }
    let all: T | undefined;
    while (pairs !== undefined) {
      const rest: T | undefined = pairs.heapNext;
      detach(pairs);
      all = all === undefined ? pairs : this.meld(all, pairs);
      pairs = rest;
    }
    return all;
  }
}

function detach<T extends HeapNode<T>>(node: T): void {
  node.heapBack = undefined;
  node.heapNext = undefined;
}

function cut<T extends HeapNode<T>>(node: T): void {
  const { heapBack: back, heapNext: next } = node;
  if (back !== undefined) {
    if (back.heapChild === node) back.heapChild = next;
    else back.heapNext = next;
  }
  if (next !== undefined) next.heapBack = back;
  detach(node);
}
