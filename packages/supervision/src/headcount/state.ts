import type { AgentId, Priority, SpawnBudget } from "@ravi/kernel";

/** All that a roster knows, as values. */
export interface RosterState {
  readonly budget: SpawnBudget;
  readonly agingMs: number;
  /** The latest time seen, in epoch milliseconds. */
  readonly now: number;
  readonly total: number;
  readonly root: { readonly id: AgentId; readonly priority: Priority };
  /** All but the root, in the order of hiring; a parent stands before its children. */
  readonly agents: readonly AgentState[];
  /** Those of them who hold no slot, in the order they began to wait. */
  readonly waiting: readonly WaitingState[];
}

export interface AgentState {
  readonly id: AgentId;
  /** Its nearest living ancestor. */
  readonly parentId: AgentId;
  readonly depth: number;
  readonly priority: Priority;
}

export interface WaitingState {
  readonly id: AgentId;
  readonly as: "paused" | "queued";
  readonly since: number;
}
