import { PairingHeap } from "./pairing-heap.ts";
import { RANKS, rankOf } from "./ranks.ts";
import type { Seat } from "./seat.ts";

/** Who could lose a slot: every holder but the root, by priority, the newest hire first. */
export class Holders {
  private readonly byRank = Array.from(
    { length: RANKS },
    () => new PairingHeap<Seat>((a, b) => a.order > b.order),
  );
  private searches = 0;

  add(seat: Seat): void {
    this.byRank[rankOf(seat.priority)]?.add(seat);
  }

  remove(seat: Seat): void {
    seat.heap?.remove(seat);
  }

  /** The lowest below `rank`, the newest among equals, never somebody above `under` or `under` itself. */
  victim(rank: number, under: Seat | undefined): Seat | undefined {
    const search = ++this.searches;
    for (let ancestor = under; ancestor !== undefined; ancestor = ancestor.parent) ancestor.search = search;
    for (const heap of this.byRank.slice(0, rank)) {
      const found = newestApart(heap, search);
      if (found !== undefined) return found;
    }
    return undefined;
  }
}

/** Ancestors are older than whom they hire, so they seldom lie on top; at most as many as the asker is deep are set aside. */
function newestApart(heap: PairingHeap<Seat>, search: number): Seat | undefined {
  const aside: Seat[] = [];
  let found = heap.top;
  while (found !== undefined && found.search === search) {
    heap.remove(found);
    aside.push(found);
    found = heap.top;
  }
  for (const seat of aside) heap.add(seat);
  return found;
}
