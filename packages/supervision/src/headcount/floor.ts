import { Holders } from "./holders.ts";
import type { Seat } from "./seat.ts";
import { WaitQueue } from "./wait-queue.ts";

/**
 * Who holds a slot and who waits. It decides nothing; it keeps the counts right through each move.
 *
 * A holder is *free* when nobody below it waits: then it, or somebody below it, can finish by itself. While somebody
 * waits there must be a free holder, or no slot would ever come back. To know that without looking at everybody, each seat
 * counts its stalled children, and a change walks up only as far as it changes anything.
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

  /** Tells those above that one more of their children is stalled. */
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
