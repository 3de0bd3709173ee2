import type { AgentId, ExecId, RunId } from "../core/ids.ts";
import type { RaviError } from "../errors/base.ts";
import type { BudgetDimension } from "../errors/errors.ts";
import type { Usage } from "../model/usage.ts";
import type { ExecutionBudget } from "../policy/execution-budget.ts";
import type { Priority } from "../policy/scales.ts";
import type { SpawnBudget } from "../policy/spawn-budget.ts";
import type { AgentResult, StopReason } from "./agent.ts";
import type { RunEvent } from "./events.ts";

export type RunStatus =
  | "pending"
  | "running"
  | "suspended"
  | "completed"
  | "partial"
  | "failed"
  | "cancelled";

/** A living execution: a child of `ctx.spawn`, or what a runtime's `run` gives. */
export interface RunHandle<T = unknown> {
  readonly runId: RunId;
  readonly execId: ExecId;
  readonly agentId: AgentId;
  readonly status: RunStatus;
  /** Final: a cancelled run is not resumed. */
  cancel(reason: string): void;
  /** Only names the type of the result; never there at run time. */
  readonly "~result"?: AgentResult<T> | undefined;
}

/** The handle of a whole tree. */
export interface RootHandle<T = unknown> extends RunHandle<T> {
  /** Never rejects for the run's own fate: that is in its status. */
  readonly result: Promise<RunResult<T>>;
  /** What happens from this call on; an engine that keeps a topic of it (Restate) tells all from the first. Observers never change the run. */
  events(): AsyncIterable<RunEvent>;
}

export interface RunResult<T = unknown> {
  readonly runId: RunId;
  readonly status: "completed" | "partial" | "failed" | "cancelled" | "suspended";
  readonly output: string;
  readonly structured?: T | undefined;
  readonly stopReason?: StopReason | undefined;
  /** Which limit cut it off, where `stopReason` is `budget`. */
  readonly stoppedBy?: StoppedBy | undefined;
  /** Limits of the whole tree that a provider's excess has passed. What was paid for was delivered all the same. */
  readonly exceeded?: readonly StoppedBy[] | undefined;
  /** Why it failed, was cancelled or is suspended. */
  readonly error?: RaviError | undefined;
  readonly usage: Usage;
  /** Dollars; null when a call had no known price. */
  readonly cost: number | null;
  /** Keys of calls that were in flight at a crash and made again: each may have been paid for twice. */
  readonly inDoubt?: readonly string[] | undefined;
  /** The limits that applied to the whole tree; null where there was none. */
  readonly limits?: RunLimits | undefined;
  /** Who worked and spent, the root first, then in the order of hiring. */
  readonly agents?: readonly AgentAccount[] | undefined;
}

/** A limit, and what was used of it. */
export type StoppedBy = {
  readonly dimension: BudgetDimension;
  readonly used: number;
  readonly limit: number;
  /** Whose budget it is: an agent, or a path of them. */
  readonly scope: string;
  /** Why the next step did not fit, and what to do, in the words of the ledger that refused it. */
  readonly hint?: string | undefined;
};

export interface RunLimits {
  readonly spawnBudget: SpawnBudget | null;
  readonly executionBudget: ExecutionBudget | null;
}

/** What one agent of a tree used, itself and without those whom it hired. */
export interface AgentAccount {
  readonly execId: ExecId;
  readonly agentId: AgentId;
  /** Who hired it; null for the root. */
  readonly parent: AgentId | null;
  readonly priority: Priority;
  readonly status: RunStatus | "denied" | "paused";
  readonly usage: Usage;
  /** Dollars; null when a call had no known price. */
  readonly costUsd: number | null;
  /** Model calls that went out, each once however often it was tried. One that a limit or a layer kept back is none. */
  readonly modelCalls: number;
  readonly toolCalls: number;
  /** Paid or refused attempts beyond the first of their call, by retry, fallback or a crash. */
  readonly retries: number;
  /** Dollars for what gave no result: attempts that failed, and everything of an agent that was cancelled or failed. */
  readonly wasteUsd: number;
}
