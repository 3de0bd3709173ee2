import { Holders } from "./holders.ts";
import type { Seat } from "./seat.ts";
import { WaitQueue } from "./wait-queue.ts";

/**
 * Tracks which seats hold a slot and which wait. It decides nothing; it keeps the counts correct through each move.
 *
 * A holder is *free* if nobody below it waits: then it, or somebody below it, can finish without another slot. While somebody
 * waits there must be a free holder, or no slot would ever be released. To know this without a look at every seat, each seat
 * counts its stalled children, and a change walks up only as far as it changes a count.
 */
export class Floor {
  readonly holders = new Holders();
  readonly queue: WaitQueue;
  held = 0;
  free = 0;

  constructor(agingMs: number) {
    this.queue = new WaitQueue(agingMs);
  }

  hold(seat: Seat): void {
    seat.state = "holding";
    this.held++;
    if (seat.awaited === 0) this.free++;
    if (seat.parent !== undefined) this.holders.add(seat);
  }

  unhold(seat: Seat): void {
    seat.state = "gone";
    this.held--;
    if (seat.awaited === 0) this.free--;
    this.holders.remove(seat);
  }

  wait(seat: Seat, as: "paused" | "queued", since: number): void {
    seat.state = as;
    this.queue.add(seat, since);
    if (seat.awaited === 0) this.stall(seat);
  }

  unwait(seat: Seat): void {
    seat.state = "gone";
    this.queue.remove(seat);
    if (seat.awaited === 0) this.unstall(seat);
  }

  /** Tells the ancestors that one more child is stalled; stops at the first one that was stalled already. */
  private stall(seat: Seat): void {
    for (let above = seat.parent; above !== undefined; above = above.parent) {
      const was = above.isStalled;
      if (++above.awaited === 1) this.refile(above, -1);
      if (was) return;
    }
  }

  private unstall(seat: Seat): void {
    for (let above = seat.parent; above !== undefined; above = above.parent) {
      if (--above.awaited === 0) this.refile(above, 1);
      if (above.isStalled) return;
    }
  }

  private refile(seat: Seat, free: 1 | -1): void {
    if (seat.state === "holding") this.free += free;
    else if (seat.isWaiting) this.queue.refile(seat);
  }
}
