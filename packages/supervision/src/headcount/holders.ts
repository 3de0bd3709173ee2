import type { PairingHeap } from "./pairing-heap.ts";
import { RankedHeaps } from "./ranked-heaps.ts";
import type { Seat } from "./seat.ts";

const newest = (a: Seat, b: Seat): boolean => a.order > b.order;

/** The seats that could lose their slot: every holder except the root, by priority, the newest hire first. */
export class Holders {
  private readonly byRank = new RankedHeaps(newest);
  private searches = 0;

  add(seat: Seat): void {
    this.byRank.add(seat);
  }

  remove(seat: Seat): void {
    seat.heap?.remove(seat);
  }

  /** The holder with the lowest priority below `rank`, the newest among equals. Never `under` itself or one of its ancestors. */
  victim(rank: number, under: Seat | undefined): Seat | undefined {
    const search = ++this.searches;
    for (let ancestor = under; ancestor !== undefined; ancestor = ancestor.parent) ancestor.search = search;
    for (let lower = 0; lower < rank; lower++) {
      const heap = this.byRank.at(lower);
      const found = heap === undefined ? undefined : newestApart(heap, search);
      if (found !== undefined) return found;
    }
    return undefined;
  }
}

/**
 * The newest seat that is not an ancestor. Ancestors are older than the agents they hire, so they are rarely on top; at most as
 * many are set aside as the requesting agent is deep.
 */
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
