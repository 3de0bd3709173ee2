import type { AgentId, CancellationError, Priority } from "@ravi/kernel";
import type { HeapNode, PairingHeap } from "./pairing-heap.ts";

/** `paused` and `queued` members wait for a slot. A `gone` member has no place yet, or was released. */
export type MemberState = "holding" | "paused" | "queued" | "gone";

/** Notified when a waiting member gets a slot or is dropped without one. */
export interface Waiter {
  granted(): void;
  dropped(error: CancellationError): void;
}

/** One hired agent, from its hire to its release. A later agent with the same id is another member. */
export class Member implements HeapNode<Member> {
  /** Changes only for a root that is named later. */
  id: AgentId;
  readonly depth: number;
  /** The number of the hire in the run: the higher, the newer. */
  readonly order: number;
  priority: Priority;
  state: MemberState = "gone";
  /** It has left the tree for good. */
  ended = false;
  /** How many of its children wait, or await somebody who waits. */
  awaited = 0;
  /** When it began to wait (epoch milliseconds), and its number among all that ever began to wait. */
  since = 0;
  place = 0;
  /** The last victim search in which this member was an ancestor of the requesting agent (see `Holders`). */
  search = 0;
  /** False after a restore, until the agent is acquired again. */
  claimed = true;
  waiters: Waiter[] | undefined;

  private above: Member | undefined;

  heap: PairingHeap<Member> | undefined;
  heapBack: Member | undefined;
  heapNext: Member | undefined;
  heapChild: Member | undefined;

  constructor(init: {
    id: AgentId;
    depth: number;
    order: number;
    priority: Priority;
    parent?: Member | undefined;
  }) {
    this.id = init.id;
    this.depth = init.depth;
    this.order = init.order;
    this.priority = init.priority;
    this.above = init.parent;
  }

  /**
   * The nearest ancestor that is still in the tree; undefined for the root. An ended member keeps its link upwards, so there is no list of
   * children to hand over, and ending takes the same time however many agents are below.
   */
  get parent(): Member | undefined {
    let { above } = this;
    if (above === undefined || !above.ended) return above;
    while (above?.ended === true) above = above.above;
    // Shorten the path, so that the next lookup takes one step.
    this.above = above;
    return above;
  }

  get isWaiting(): boolean {
    return this.state === "paused" || this.state === "queued";
  }

  /** It has lost its slot in the middle of a step. Of an agent that was restored and not acquired again, no step is under way. */
  get isDraining(): boolean {
    return this.state === "paused" && this.claimed && this.waiters === undefined;
  }

  /** It waits, or awaits somebody below it who does. */
  get isStalled(): boolean {
    return this.awaited > 0 || this.isWaiting;
  }
}
