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
import { checkAgentId } from "./check-id.ts";
import { SeatLease } from "./lease.ts";
import { checkPriority } from "./ranks.ts";
import type { HireRequest, Roster } from "./roster.ts";
import { writeSnapshot } from "./snapshot.ts";
import { granted } from "./waiting.ts";

const OPTIONS = ["parentId", "onFull", "signal"] as const satisfies readonly (keyof QueueOptions)[];

/** The kernel's `Headcount` over a roster: checks what comes in, and adds leases, promises and signals. */
export class RosterHeadcount implements Headcount {
  protected readonly roster: Roster;

  constructor(roster: Roster) {
    this.roster = roster;
  }

  /** How many slots are held, the root's included. */
  get held(): number {
    return this.roster.held;
  }

  /** Who lost its slot and waits for one, the longest paused first. */
  get paused(): readonly AgentId[] {
    return this.roster
      .waiting()
      .filter(({ state }) => state === "paused")
      .map(({ id }) => id);
  }

  /** How many were ever hired, the root included. A queued hire counts, unless it is called off before its slot came. */
  get totalSpawned(): number {
    return this.roster.staff.total;
  }

  /** Waits for a slot if none is to be had. Rejects when aborted, and at once where it could never be granted. */
  acquire(id: AgentId, priority: Priority | undefined, options: QueueOptions): Promise<Lease>;
  /** Throws a `BudgetExhaustedError` when denied. */
  acquire(id: AgentId, priority?: Priority, options?: AcquireOptions): Lease;
  /** Where whoever asks is told what to do, as by the `onFull` of a hire. */
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
    const seat = this.roster.hire(request(id, priority, options));
    return new SeatLease(this.roster, seat);
  }

  /** Frees the slot, or the place in the queue. Does nothing for an unknown id, a lease given back before, and the root. */
  release(leaseOrId: Lease | AgentId): void {
    if (typeof leaseOrId === "string") {
      const seat = this.roster.staff.get(leaseOrId);
      if (seat !== undefined) this.roster.release(seat);
    } else if (leaseOrId instanceof SeatLease && leaseOrId.isOf(this.roster)) {
      leaseOrId.release();
    }
  }

  /** Asked before every step, and mostly of a tree where nobody waits: that needs no look at who it is. */
  isPaused(id: AgentId): boolean {
    return this.roster.hasWaiting && this.roster.staff.get(id)?.state === "paused";
  }

  /** Resolves at once when it is not paused. Rejects when aborted, or when it is released while paused. */
  async whenResumed(id: AgentId, signal?: AbortSignalLike): Promise<void> {
    checkSignal("signal", signal);
    const seat = this.roster.staff.get(id);
    if (seat?.state !== "paused") return;
    if (signal?.aborted === true) throw cancellationOf(signal);
    await granted(seat, signal);
  }

  /** Undefined for who is not in the tree. */
  priorityOf(id: AgentId): Priority | undefined {
    return this.roster.staff.get(id)?.priority;
  }

  /** Does nothing for an unknown id: the agent may just have ended. */
  reprioritize(id: AgentId, priority: Priority): void {
    const checked = checkPriority("priority", priority);
    const seat = this.roster.staff.get(id);
    if (seat !== undefined) this.roster.reprioritize(seat, checked);
  }

  snapshot(): JsonObject {
    return writeSnapshot(this.roster.dump());
  }

  private async queue(id: AgentId, priority: Priority, options: QueueOptions): Promise<Lease> {
    const signal = checkSignal("signal", options.signal);
    if (signal?.aborted === true) throw cancellationOf(signal);
    const seat = this.roster.hire(request(id, priority, options));
    const lease = new SeatLease(this.roster, seat);
    if (seat.state === "queued") await granted(seat, signal, () => this.roster.release(seat));
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
