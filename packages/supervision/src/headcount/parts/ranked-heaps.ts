import { PairingHeap } from "../pairing-heap.ts";
import { rankOf } from "./ranks.ts";
import type { Member } from "../member.ts";

/** Members in one heap per priority. A heap is created when it is first needed: most runs use one priority. */
export class RankedHeaps {
  private readonly before: (a: Member, b: Member) => boolean;
  private heaps: (PairingHeap<Member> | undefined)[] | undefined;

  constructor(before: (a: Member, b: Member) => boolean) {
    this.before = before;
  }

  add(member: Member): void {
    const heaps = (this.heaps ??= []);
    (heaps[rankOf(member.priority)] ??= new PairingHeap<Member>(this.before)).add(member);
  }

  at(rank: number): PairingHeap<Member> | undefined {
    return this.heaps?.[rank];
  }

  /** All members, in no particular order. */
  list(): Member[] {
    return (this.heaps ?? []).flatMap((heap) => (heap === undefined ? [] : [...heap]));
  }
}
