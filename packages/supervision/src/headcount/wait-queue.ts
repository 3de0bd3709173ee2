import { RankedHeaps } from "./ranked-heaps.ts";
import { RANKS, agedRank, rankOf } from "./ranks.ts";
import type { Seat } from "./seat.ts";

const longest = (a: Seat, b: Seat): boolean => a.place < b.place;

/**
 * Paused agents and queued hires, in one queue. The best is the one with the highest priority after aging, then the one
 * that waits longest. Inside one priority the longest waiting is always the best, so only the heads are compared, and
 * aging needs no timer.
 */
export class WaitQueue {
  /** Those who could go on at once, and those who would only await somebody else in this queue. */
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

  /** In the order they began to wait. */
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

  /** To be called when its priority changed, or whether it awaits somebody. It keeps its age. */
  refile(seat: Seat): void {
    seat.heap?.remove(seat);
    const side = seat.awaited > 0 ? this.awaiting : this.ready;
    side.add(seat);
  }

  best(now: number): Seat | undefined {
    return this.bestOf(this.awaiting, now, this.bestReady(now));
  }

  /** The best of those who await nobody in the queue. There is one whenever somebody waits: the deepest. */
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
