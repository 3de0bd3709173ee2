import { Holders } from "./holders.ts";
import type { Member } from "./member.ts";
import { WaitQueue } from "./wait-queue.ts";

/**
 * Tracks which members hold a slot and which wait. It decides nothing; it keeps the counts correct through each move.
 *
 * A holder is *free* if nobody below it waits: then it, or somebody below it, can finish without another slot. While somebody
 * waits there must be a free holder, or no slot would ever be released. To know this without a look at every member, each member
 * counts its stalled children, and a change walks up only as far as it changes a count.
 */
export class Occupancy {
  readonly holders = new Holders();
  readonly queue: WaitQueue;
  held = 0;
  free = 0;

  constructor(agingMs: number) {
    this.queue = new WaitQueue(agingMs);
  }

  hold(member: Member): void {
    member.state = "holding";
    this.held++;
    if (member.awaited === 0) this.free++;
    if (member.parent !== undefined) this.holders.add(member);
  }

  unhold(member: Member): void {
    member.state = "gone";
    this.held--;
    if (member.awaited === 0) this.free--;
    this.holders.remove(member);
  }

  wait(member: Member, as: "paused" | "queued", since: number): void {
    member.state = as;
    this.queue.add(member, since);
    if (member.awaited === 0) this.stall(member);
  }

  unwait(member: Member): void {
    member.state = "gone";
    this.queue.remove(member);
    if (member.awaited === 0) this.unstall(member);
  }

  /** Tells the ancestors that one more child is stalled; stops at the first one that was stalled already. */
  private stall(member: Member): void {
    for (let above = member.parent; above !== undefined; above = above.parent) {
      const was = above.isStalled;
      if (++above.awaited === 1) this.refile(above, -1);
      if (was) return;
    }
  }

  private unstall(member: Member): void {
    for (let above = member.parent; above !== undefined; above = above.parent) {
      if (--above.awaited === 0) this.refile(above, 1);
      if (above.isStalled) return;
    }
  }

  private refile(member: Member, free: 1 | -1): void {
    if (member.state === "holding") this.free += free;
    else if (member.isWaiting) this.queue.refile(member);
  }
}
