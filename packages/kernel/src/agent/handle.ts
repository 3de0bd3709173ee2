import type { AgentId, ExecId, RunId } from "../core/ids.ts";
import type { RaviError } from "../errors/base.ts";
import type { Usage } from "../model/usage.ts";
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
  /** Any number of observers, who never change the run. */
  events(): AsyncIterable<RunEvent>;
}

export interface RunResult<T = unknown> {
  readonly runId: RunId;
  readonly status: "completed" | "partial" | "failed" | "cancelled" | "suspended";
  readonly output: string;
  readonly structured?: T | undefined;
  readonly stopReason?: StopReason | undefined;
  /** Why it failed, was cancelled or is suspended. */
  readonly error?: RaviError | undefined;
  readonly usage: Usage;
  /** Dollars; null when a call had no known price. */
  readonly cost: number | null;
  /** Keys of calls that were in flight at a crash and made again: each may have been paid for twice. */
  readonly inDoubt?: readonly string[] | undefined;
}
