import type { AgentId, CancellationError, Priority } from "@ravi/kernel";
import type { HeapNode, PairingHeap } from "./pairing-heap.ts";

/** `paused` and `queued` wait for a slot; `gone` is final. */
export type SeatState = "holding" | "paused" | "queued" | "gone";

/** Somebody who is told when a waiting agent gets its slot, or leaves without one. */
export interface Waiter {
  granted(): void;
  dropped(error: CancellationError): void;
}

/** One hired agent, from its hire to its release. A later agent of the same id is another seat. */
export class Seat implements HeapNode<Seat> {
  readonly id: AgentId;
  readonly depth: number;
  /** The hire's number in the run: the greater, the newer. */
  readonly order: number;
  priority: Priority;
  state: SeatState = "gone";
  /** Left the tree, for good. */
  ended = false;
  /** How many of its children wait, or await somebody who does. */
  awaited = 0;
  /** When it began to wait, and its number among all who ever began to. */
  since = 0;
  place = 0;
  /** The last search for a victim in which it was an ancestor of the asker. */
  search = 0;
  /** False after a restore, until somebody acquires it again. */
  claimed = true;
  waiters: Waiter[] | undefined;

  private above: Seat | undefined;

  heap: PairingHeap<Seat> | undefined;
  heapBack: Seat | undefined;
  heapNext: Seat | undefined;
  heapChild: Seat | undefined;

  constructor(init: {
    id: AgentId;
    depth: number;
    order: number;
    priority: Priority;
    parent?: Seat | undefined;
  }) {
    this.id = init.id;
    this.depth = init.depth;
    this.order = init.order;
    this.priority = init.priority;
    this.above = init.parent;
  }

  /**
   * Its nearest ancestor that is still there; undefined for the root. Who ends points to those above it, so nobody needs a list
   * of children to hand on, and to end takes the same time however many are below.
   */
  get parent(): Seat | undefined {
    let { above } = this;
    if (above === undefined || !above.ended) return above;
    while (above?.ended === true) above = above.above;
    // The next one who asks goes there at once.
    this.above = above;
    return above;
  }

  get isWaiting(): boolean {
    return this.state === "paused" || this.state === "queued";
  }

  /** Waits, or awaits somebody below who does. */
  get isStalled(): boolean {
    return this.awaited > 0 || this.isWaiting;
  }
}
