import { RankedHeaps } from "./parts/ranked-heaps.ts";
import { RANKS, agedRank, rankOf } from "./parts/ranks.ts";
import type { Member } from "./member.ts";

const longest = (a: Member, b: Member): boolean => a.place < b.place;

/**
 * Paused agents and queued hires in one queue. The best entry is the one with the highest priority after aging; among equals, the
 * one that has waited longest. Within one priority the longest-waiting member is always the best, so only the top of each heap is
 * compared, and aging needs no timer.
 */
export class WaitQueue {
  /** `ready`: members that could continue at once. `awaiting`: members that would only wait for another member of this queue. */
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
  list(): Member[] {
    return [...this.ready.list(), ...this.awaiting.list()].toSorted((a, b) => a.place - b.place);
  }

  add(member: Member, since: number): void {
    member.since = since;
    member.place = ++this.places;
    this.waiting++;
    this.refile(member);
  }

  remove(member: Member): void {
    this.waiting--;
    member.heap?.remove(member);
  }

  /** Call it when the member's priority changes, or whether it awaits another waiting member. The member keeps its waiting time. */
  refile(member: Member): void {
    member.heap?.remove(member);
    const side = member.awaited > 0 ? this.awaiting : this.ready;
    side.add(member);
  }

  /** The member that should get the next slot. */
  best(now: number): Member | undefined {
    return this.bestOf(this.awaiting, now, this.bestReady(now));
  }

  /** The best of the members that await nobody in the queue. If the queue is not empty there is one: the deepest. */
  bestReady(now: number): Member | undefined {
    return this.bestOf(this.ready, now, undefined);
  }

  private bestOf(side: RankedHeaps, now: number, start: Member | undefined): Member | undefined {
    let best = start;
    for (let rank = 0; rank < RANKS; rank++) {
      const top = side.at(rank)?.top;
      if (top !== undefined && (best === undefined || this.precedes(top, best, now))) best = top;
    }
    return best;
  }

  private precedes(a: Member, b: Member, now: number): boolean {
    const ahead = this.rank(a, now) - this.rank(b, now);
    return ahead > 0 || (ahead === 0 && a.place < b.place);
  }

  private rank(member: Member, now: number): number {
    return agedRank(rankOf(member.priority), now - member.since, this.agingMs);
  }
}
