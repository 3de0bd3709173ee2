import type { AgentId, Priority, SpawnBudget } from "@ravi/kernel";

/** The whole state of a roster, as plain values. */
export interface RosterState {
  readonly budget: SpawnBudget;
  readonly agingMs: number;
  /** The latest time read from the clock, in epoch milliseconds. */
  readonly now: number;
  readonly total: number;
  readonly root: { readonly id: AgentId; readonly priority: Priority };
  /** All agents except the root, in the order of hiring, so that a parent comes before its children. */
  readonly agents: readonly AgentState[];
  /** The agents that hold no slot, in the order in which they began to wait. */
  readonly waiting: readonly WaitingState[];
}

export interface AgentState {
  readonly id: AgentId;
  /** Its nearest ancestor that is still in the tree. */
  readonly parentId: AgentId;
  readonly depth: number;
  readonly priority: Priority;
}

export interface WaitingState {
  readonly id: AgentId;
  readonly as: "paused" | "queued";
  /** Epoch milliseconds. */
  readonly since: number;
}
