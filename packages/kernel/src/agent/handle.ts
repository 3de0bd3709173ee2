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

/** A running agent: a child started by `ctx.spawn`, or the root that a runtime's `run` started. */
export interface RunHandle<T = unknown> {
  readonly runId: RunId;
  readonly execId: ExecId;
  readonly agentId: AgentId;
  /**
   * That of a run is `suspended` also while one of its agents waits for an answer, such as an approval. That of a child is as of now, and not
   * on record: an agent that decides by it may decide otherwise when it is resumed. `ctx.join` gives the outcome.
   */
  readonly status: RunStatus;
  /** Stops it for good: a cancelled run cannot be resumed. Does nothing if it has ended. */
  cancel(reason: string): void;
  /** Carries the type of the result for inference. It does not exist at run time. */
  readonly "~result"?: AgentResult<T> | undefined;
}

/** The handle of a whole run. */
export interface RootHandle<T = unknown> extends RunHandle<T> {
  /**
   * Resolves when the run has ended or is suspended. A run that fails does not reject it: see `status` and `error`. It rejects if the run
   * could not be started, its journal fails, or another process has taken it over.
   */
  readonly result: Promise<RunResult<T>>;
  /** Events from this call on; with an engine that stores them (Restate), from the first one. Reading them does not affect the run. */
  events(): AsyncIterable<RunEvent>;
}

export interface RunResult<T = unknown> {
  readonly runId: RunId;
  readonly status: "completed" | "partial" | "failed" | "cancelled" | "suspended";
  /** The answer as text; empty if there is none. */
  readonly output: string;
  /** The answer in the shape of the agent's `output` schema. */
  readonly structured?: T | undefined;
  readonly stopReason?: StopReason | undefined;
  /** What was wrong with the last answer, if `stopReason` is `invalid`: each field, and what was expected there. */
  readonly problem?: string | undefined;
  /** The limit that stopped it, if `stopReason` is `budget`. */
  readonly stoppedBy?: StoppedBy | undefined;
  /** Limits of the whole tree that were exceeded because a provider used more than was reserved. */
  readonly exceeded?: readonly StoppedBy[] | undefined;
  /** Why the run failed, was cancelled or is suspended. */
  readonly error?: RaviError | undefined;
  /** Of all agents together. */
  readonly usage: Usage;
  /** Dollars, of all agents together; null if the price of a call is not known. */
  readonly cost: number | null;
  /**
   * Keys of calls of which it is not known what came of them, because they were in flight at a crash, or nobody waited for their end. They
   * may have been made and paid for, and those that were made again, twice. A tool that nobody has decided on is among them when the run has ended.
   */
  readonly inDoubt?: readonly string[] | undefined;
  /** The limits of the whole tree. */
  readonly limits?: RunLimits | undefined;
  /** What each agent has used: the root first, then in the order of hiring. */
  readonly agents?: readonly AgentAccount[] | undefined;
}

/** The limit that refused a step. */
export type StoppedBy = {
  readonly dimension: BudgetDimension;
  readonly used: number;
  readonly limit: number;
  /** The agent, or path of agents, whose budget it is. */
  readonly scope: string;
  /** Why the next step did not fit, and what to do about it. */
  readonly hint?: string | undefined;
};

/** Null where there is no limit. */
export interface RunLimits {
  readonly spawnBudget: SpawnBudget | null;
  readonly executionBudget: ExecutionBudget | null;
}

/** What one agent of a tree has used, without the agents that it hired. */
export interface AgentAccount {
  readonly execId: ExecId;
  readonly agentId: AgentId;
  /** The agent that hired it; null for the root. */
  readonly parent: AgentId | null;
  readonly priority: Priority;
  readonly status: RunStatus | "denied" | "paused";
  /** Why it stopped, if its status is `partial`. */
  readonly stopReason?: StopReason | undefined;
  /** The limit that stopped it, if `stopReason` is `budget`. */
  readonly stoppedBy?: StoppedBy | undefined;
  readonly usage: Usage;
  /** Dollars; null if the price of a call is not known. */
  readonly costUsd: number | null;
  /**
   * Model calls that were sent. A call that was retried counts once; one that a limit or a layer stopped does not count. One that a crash
   * cut off counts as sent, since that is not known.
   */
  readonly modelCalls: number;
  readonly toolCalls: number;
  /** Further attempts at the same call, after a failure, a fallback or a crash. */
  readonly retries: number;
  /** Dollars spent without a result: failed attempts, and everything of an agent that failed or was cancelled. */
  readonly wasteUsd: number;
}
