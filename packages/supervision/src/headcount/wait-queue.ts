import { RankedHeaps } from "./ranked-heaps.ts";
import { RANKS, agedRank, rankOf } from "./ranks.ts";
import type { Seat } from "./seat.ts";

const longest = (a: Seat, b: Seat): boolean => a.place < b.place;

/**
 * Paused agents and queued hires in one queue. The best entry is the one with the highest priority after aging; among equals, the
 * one that has waited longest. Within one priority the longest-waiting seat is always the best, so only the top of each heap is
 * compared, and aging needs no timer.
 */
export class WaitQueue {
  /** `ready`: seats that could continue at once. `awaiting`: seats that would only wait for another seat of this queue. */
  private readonly ready = new RankedHeaps(longest);
  private readonly awaiting = new RankedHeaps(longest);
  private readonly agingMs: number;
  private places = 0;
  private waiting = 0;

  constructor(agingMs: number) {
    this.agingMs = agingMs;
  }

  get size(): number {
    return this.waiting;
  }

  /** In the order in which they began to wait. */
  list(): Seat[] {
    return [...this.ready.list(), ...this.awaiting.list()].toSorted((a, b) => a.place - b.place);
  }

  add(seat: Seat, since: number): void {
    seat.since = since;
    seat.place = ++this.places;
    this.waiting++;
    this.refile(seat);
  }

  remove(seat: Seat): void {
    this.waiting--;
    seat.heap?.remove(seat);
  }

  /** Call it when the seat's priority changes, or whether it awaits another waiting seat. The seat keeps its waiting time. */
  refile(seat: Seat): void {
    seat.heap?.remove(seat);
    const side = seat.awaited > 0 ? this.awaiting : this.ready;
    side.add(seat);
  }

  /** The seat that should get the next slot. */
  best(now: number): Seat | undefined {
    return this.bestOf(this.awaiting, now, this.bestReady(now));
  }

  /** The best of the seats that await nobody in the queue. If the queue is not empty there is one: the deepest. */
  bestReady(now: number): Seat | undefined {
    return this.bestOf(this.ready, now, undefined);
  }

  private bestOf(side: RankedHeaps, now: number, start: Seat | undefined): Seat | undefined {
    let best = start;
    for (let rank = 0; rank < RANKS; rank++) {
      const top = side.at(rank)?.top;
      if (top !== undefined && (best === undefined || this.precedes(top, best, now))) best = top;
    }
    return best;
  }

  private precedes(a: Seat, b: Seat, now: number): boolean {
    const ahead = this.rank(a, now) - this.rank(b, now);
    return ahead > 0 || (ahead === 0 && a.place < b.place);
  }

  private rank(seat: Seat, now: number): number {
    return agedRank(rankOf(seat.priority), now - seat.since, this.agingMs);
  }
}
