import type { PairingHeap } from "./pairing-heap.ts";
import { RankedHeaps } from "./parts/ranked-heaps.ts";
import type { Member } from "./member.ts";

const newest = (a: Member, b: Member): boolean => a.order > b.order;

/** The members that could lose their slot: every holder except the root, by priority, the newest hire first. */
export class Holders {
  private readonly byRank = new RankedHeaps(newest);
  private searches = 0;

  add(member: Member): void {
    this.byRank.add(member);
  }

  remove(member: Member): void {
    member.heap?.remove(member);
  }

  /** The holder with the lowest priority below `rank`, the newest among equals. Never `under` itself or one of its ancestors. */
  victim(rank: number, under: Member | undefined): Member | undefined {
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
 * The newest member that is not an ancestor. Ancestors are older than the agents they hire, so they are rarely on top; at most as
 * many are set aside as the requesting agent is deep.
 */
function newestApart(heap: PairingHeap<Member>, search: number): Member | undefined {
  const aside: Member[] = [];
  let found = heap.top;
  while (found !== undefined && found.search === search) {
    heap.remove(found);
    aside.push(found);
    found = heap.top;
  }
  for (const member of aside) heap.add(member);
  return found;
}
