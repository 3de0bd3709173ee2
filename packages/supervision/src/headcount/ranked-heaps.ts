import { PairingHeap } from "./pairing-heap.ts";
import { rankOf } from "./ranks.ts";
import type { Seat } from "./seat.ts";

/** Seats in one heap per priority. A heap is created when it is first needed: most runs use one priority. */
export class RankedHeaps {
  private readonly before: (a: Seat, b: Seat) => boolean;
  private heaps: (PairingHeap<Seat> | undefined)[] | undefined;

  constructor(before: (a: Seat, b: Seat) => boolean) {
    this.before = before;
  }

  add(seat: Seat): void {
    const heaps = (this.heaps ??= []);
    (heaps[rankOf(seat.priority)] ??= new PairingHeap<Seat>(this.before)).add(seat);
  }

  at(rank: number): PairingHeap<Seat> | undefined {
    return this.heaps?.[rank];
  }

  /** All seats, in no particular order. */
  list(): Seat[] {
    return (this.heaps ?? []).flatMap((heap) => (heap === undefined ? [] : [...heap]));
  }
}
