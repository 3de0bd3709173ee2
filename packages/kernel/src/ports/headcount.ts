import type { AgentId } from "../core/ids.ts";
import type { JsonObject } from "../core/json.ts";
import type { AbortSignalLike, MaybePromise } from "../core/types.ts";
import type { Priority } from "../policy/scales.ts";

/** A slot that an agent holds. Releasing it twice, or after it was preempted, does nothing. */
export interface Lease {
  readonly agentId: AgentId;
  release(): void;
  [Symbol.dispose](): void;
}

export interface AcquireOptions {
  /** The agent that hires. Neither it nor those above it are preempted for this slot. */
  readonly parentId?: AgentId | undefined;
  readonly onFull?: "deny" | undefined;
}

export interface QueueOptions extends Omit<AcquireOptions, "onFull"> {
  readonly onFull: "queue";
  readonly signal?: AbortSignalLike | undefined;
}

/**
 * Limits how many agents of one tree exist and work at the same time. The root holds a slot from the start, and is never preempted.
 *
 * Who yields to whom: a hire with priority HIGH or CRITICAL takes, if there is no free slot, that of an agent with a lower priority, of the
 * lowest the newest. An agent that has lost its slot is paused. Those that are paused and those that are queued wait in one line, the
 * highest priority first, then the oldest. An id that is in the tree cannot be hired again. Refusals name the dimension `agents`,
 * `totalAgents` or `depth`; who stops waiting because of a signal gets an error with the code `CANCELLED`.
 */
export interface Headcount {
  /** Waits for a slot. Rejects when aborted, and at once if there can never be one. */
  acquire(id: AgentId, priority: Priority | undefined, options: QueueOptions): Promise<Lease>;
  /** Takes a slot now. Throws a `BudgetExhaustedError` if it is denied. */
  acquire(id: AgentId, priority?: Priority, options?: AcquireOptions): MaybePromise<Lease>;
  /** Frees the slot, or the place of an agent that is paused or queued. Does nothing if there is neither. */
  release(leaseOrId: Lease | AgentId): MaybePromise<void>;
  /** Whether the agent was preempted and has no slot now. */
  isPaused(id: AgentId): MaybePromise<boolean>;
  /** Resolves when the agent has a slot again; at once if it is not paused. Rejects when aborted. */
  whenResumed(id: AgentId, signal?: AbortSignalLike): Promise<void>;
  /**
   * Undefined if the agent is not in the tree. A runtime asks for the root before the run starts: a headcount that was made for
   * another root would deny every hire.
   */
  priorityOf?(id: AgentId): Priority | undefined;
  /**
   * Says who the root is. A runtime calls it before the run starts; a headcount that was made for another root returns false.
   */
  nameRoot?(id: AgentId): boolean;
  reprioritize(id: AgentId, priority: Priority): MaybePromise<void>;
  /** The whole state as plain JSON, for an engine that stores it. */
  snapshot(): JsonObject;
}

/** Decides whether an execution that crashed is started again. */
export interface RestartPolicy {
  /** Whether to start it again. Each call that returns true counts as a restart. */
  shouldRetry(execId: string, error?: unknown): boolean;
  /** How many milliseconds to wait before a restart. The first restart is attempt 1. If it is no finite number, there is none. */
  delayMs(attempt: number): number;
  /** Forgets the restarts so far. Called when the execution has ended. */
  reset(execId: string): void;
}
