/** What lies in a heap carries its links itself, so that it can be taken out from anywhere without a search. */
export interface HeapNode<T extends HeapNode<T>> {
  /** The heap it lies in; undefined when in none. */
  heap: PairingHeap<T> | undefined;
  /** The left neighbour, or the parent of a first child. */
  heapBack: T | undefined;
  heapNext: T | undefined;
  heapChild: T | undefined;
}

/**
 * Adds in constant time, takes out any member in amortised O(log n). A binary heap would pay log n for each hire,
 * because the newest is always the next to go; here it becomes the top with one comparison.
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

  /** The loser becomes the winner's first child. */
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

  /** Melds siblings two by two from the left, then the pairs from the right: the order that makes it O(log n). */
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
