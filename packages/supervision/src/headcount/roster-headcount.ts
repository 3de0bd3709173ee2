import {
  cancellationOf,
  checkFields,
  checkSignal,
  type AcquireOptions,
  type AbortSignalLike,
  type AgentId,
  type Headcount,
  InvalidValueError,
  type JsonObject,
  type Lease,
  Priority,
  type QueueOptions,
} from "@ravi/kernel";
import { checkAgentId } from "./parts/check-id.ts";
import { SlotLease } from "./parts/lease.ts";
import { checkPriority } from "./parts/ranks.ts";
import type { HireRequest, Roster } from "./roster.ts";
import { writeSnapshot } from "./parts/snapshot.ts";
import { granted } from "./parts/granted.ts";

const OPTIONS = ["parentId", "onFull", "signal"] as const satisfies readonly (keyof QueueOptions)[];

/** The kernel's `Headcount` on top of a roster: it validates the arguments and adds leases, promises and signals. */
export class RosterHeadcount implements Headcount {
  protected readonly roster: Roster;

  constructor(roster: Roster) {
    this.roster = roster;
  }

  /** How many slots are held now, including the root's. */
  get held(): number {
    return this.roster.held;
  }

  /** Agents that lost their slot and wait for another, the longest paused first. */
  get paused(): readonly AgentId[] {
    return this.roster
      .waiting()
      .filter(({ state }) => state === "paused")
      .map(({ id }) => id);
  }

  /** Of the `paused` ones, those that still finish a step: they have not begun to wait for a slot (`whenResumed`). */
  get draining(): readonly AgentId[] {
    return this.roster
      .waiting()
      .filter((member) => member.isDraining)
      .map(({ id }) => id);
  }

  /** How many agents were ever hired, including the root. A queued hire counts, unless it is released before it got a slot. */
  get totalSpawned(): number {
    return this.roster.tree.total;
  }

  /**
   * Waits for a slot if all are taken. Rejects with a `CancellationError` when the signal aborts, and at once with a
   * `BudgetExhaustedError` if the hire could never be granted or a limit forbids it.
   */
  acquire(id: AgentId, priority: Priority | undefined, options: QueueOptions): Promise<Lease>;
  /**
   * Takes a slot at once (default priority: NORMAL). Throws a `BudgetExhaustedError` if there is none or a limit forbids the
   * hire.
   */
  acquire(id: AgentId, priority?: Priority, options?: AcquireOptions): Lease;
  /** For callers that pass `onFull` on without knowing which it is: `"deny"` (default) returns a lease, `"queue"` a promise. */
  acquire(
    id: AgentId,
    priority: Priority | undefined,
    options: Omit<QueueOptions, "onFull"> & { readonly onFull?: "deny" | "queue" | undefined },
  ): Lease | Promise<Lease>;
  acquire(
    id: AgentId,
    priority: Priority = Priority.NORMAL,
    options: AcquireOptions | QueueOptions = {},
  ): Lease | Promise<Lease> {
    checkFields("acquire options", options, OPTIONS);
    if (options.onFull === "queue") return this.queue(id, priority, options);
    const member = this.roster.hire(request(id, priority, options));
    return new SlotLease(this.roster, member);
  }

  /** Frees the slot or the place in the queue. Does nothing for an unknown id, a lease that was released before, or the root. */
  release(leaseOrId: Lease | AgentId): void {
    if (typeof leaseOrId === "string") {
      const member = this.roster.tree.get(leaseOrId);
      if (member !== undefined) this.roster.release(member);
    } else if (leaseOrId instanceof SlotLease && leaseOrId.isOf(this.roster)) {
      leaseOrId.release();
    }
  }

  /** Whether the agent has lost its slot. Called before every step: if nobody waits at all, the id is not even looked up. */
  isPaused(id: AgentId): boolean {
    return this.roster.hasWaiting && this.roster.tree.get(id)?.state === "paused";
  }

  /**
   * Resolves when the agent has a slot again, at once if it is not paused. Rejects when the signal aborts, or when the agent is
   * released while paused.
   */
  async whenResumed(id: AgentId, signal?: AbortSignalLike): Promise<void> {
    checkSignal("signal", signal);
    const member = this.roster.tree.get(id);
    if (member?.state !== "paused") return;
    if (signal?.aborted === true) throw cancellationOf(signal);
    await granted(member, signal);
  }

  /** Says who the root is, if `rootId` was not given. Returns whether the root has this id. */
  nameRoot(id: AgentId): boolean {
    return this.roster.tree.nameRoot(checkAgentId("rootId", id));
  }

  /** Undefined if the agent is not in the tree. */
  priorityOf(id: AgentId): Priority | undefined {
    return this.roster.tree.get(id)?.priority;
  }

  /**
   * Changes the agent's priority, which may pause it or give it a slot. Does nothing for an unknown id: the agent may just have
   * ended.
   */
  reprioritize(id: AgentId, priority: Priority): void {
    const checked = checkPriority("priority", priority);
    const member = this.roster.tree.get(id);
    if (member !== undefined) this.roster.reprioritize(member, checked);
  }

  /** The whole state as plain JSON, for `SpawnTracker.restore`. */
  snapshot(): JsonObject {
    return writeSnapshot(this.roster.dump());
  }

  private async queue(id: AgentId, priority: Priority, options: QueueOptions): Promise<Lease> {
    const signal = checkSignal("signal", options.signal);
    if (signal?.aborted === true) throw cancellationOf(signal);
    const member = this.roster.hire(request(id, priority, options));
    const lease = new SlotLease(this.roster, member);
    if (member.state === "queued") await granted(member, signal, () => this.roster.release(member));
    return lease;
  }
}

function request(id: AgentId, priority: Priority, options: AcquireOptions | QueueOptions): HireRequest {
  return {
    id: checkAgentId("agentId", id),
    priority: checkPriority("priority", priority),
    parentId: options.parentId,
    onFull: checkOnFull(options.onFull),
  };
}

function checkOnFull(value: unknown): "deny" | "queue" {
  if (value === undefined || value === "deny") return "deny";
  if (value === "queue") return value;
  throw new InvalidValueError({ field: "onFull", value, expected: `"deny" or "queue"` });
}
