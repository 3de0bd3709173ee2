import type { AgentId } from "../core/ids.ts";
import type { JsonObject } from "../core/json.ts";
import type { AbortSignalLike, MaybePromise } from "../core/types.ts";
import type { Priority } from "../policy/scales.ts";

/** A slot that is held. Giving it back twice, or after it was taken by a preemption, does nothing. */
export interface Lease {
  readonly agentId: AgentId;
  release(): void;
  [Symbol.dispose](): void;
}

export interface AcquireOptions {
  /** Who hires; the asker's ancestors are never preempted for it. */
  readonly parentId?: AgentId | undefined;
  readonly onFull?: "deny" | undefined;
}

export interface QueueOptions extends Omit<AcquireOptions, "onFull"> {
  readonly onFull: "queue";
  readonly signal?: AbortSignalLike | undefined;
}

/** One count for the whole tree. The root holds a slot from the start. */
export interface Headcount {
  /** Waits for a slot; rejects when aborted, or at once where it could never be granted. */
  acquire(id: AgentId, priority: Priority | undefined, options: QueueOptions): Promise<Lease>;
  /** Throws a `BudgetExhaustedError` when denied. */
  acquire(id: AgentId, priority?: Priority, options?: AcquireOptions): MaybePromise<Lease>;
  /** Frees the slot that is held; who is paused or queued gives up its place. Otherwise it does nothing. */
  release(leaseOrId: Lease | AgentId): MaybePromise<void>;
  isPaused(id: AgentId): MaybePromise<boolean>;
  /** Resolves at once when it is not paused. */
  whenResumed(id: AgentId, signal?: AbortSignalLike): Promise<void>;
  /** Undefined for who is not in the tree. A runtime asks it about the root before anybody is hired: one that does not know it would deny all. */
  priorityOf?(id: AgentId): Priority | undefined;
  reprioritize(id: AgentId, priority: Priority): MaybePromise<void>;
  snapshot(): JsonObject;
}

/** Whether an execution that crashed is started again. */
export interface RestartPolicy {
  /** Asks and counts. */
  shouldRetry(execId: string, error?: unknown): boolean;
  /** How long to wait before it; attempt 1 is the first restart. */
  delayMs(attempt: number): number;
  reset(execId: string): void;
}
