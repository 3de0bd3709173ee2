import type { AgentId } from "../core/ids.ts";
import type { SchemaLike } from "../model/schema.ts";
import type { ExecutionBudgetOptions } from "../policy/execution-budget.ts";
import type { SpawnBudgetOptions } from "../policy/spawn-budget.ts";
import type { Hooks } from "../ports/hooks.ts";
import type { Ledger } from "../ports/ledger.ts";
import type { Pipelines } from "../ports/middleware.ts";
import type { Inbox } from "./inbox.ts";
import type { RunContext } from "./run-context.ts";

/** Anything of this shape can be hosted. It spends and hires through its context, which holds the rules. */
export interface Agent<T = unknown> {
  readonly id: AgentId;
  /** A run is pinned to it: change it when a recorded run could not be replayed with the new code. */
  readonly version?: string | undefined;
  readonly description?: string | undefined;
  readonly hooks?: Hooks | undefined;
  readonly pipelines?: Pipelines | undefined;
  readonly output?: SchemaLike<T> | undefined;
  readonly defaults?: AgentDefaults | undefined;
  run(ctx: RunContext, inbox: Inbox): Promise<AgentResult<T>>;
}

/** What an agent answers with; of a choice between agents, what any of them does. */
export type AnswerOf<A> = A extends Agent<infer T> ? T : never;

export interface AgentDefaults {
  readonly spawnBudget?: SpawnBudgetOptions | undefined;
  /** A literal, or a ledger of the user's own that is reserved from in addition. */
  readonly executionBudget?: ExecutionBudgetOptions | Ledger | undefined;
}

export interface AgentResult<T = unknown> {
  readonly status: "completed" | "partial" | "paused";
  readonly output: string;
  readonly structured?: T | undefined;
  readonly stopReason: StopReason;
}

export type StopReason =
  | "done"
  | "budget"
  | "deadline"
  | "steps"
  | "length"
  | "refused"
  | "filtered"
  | "loop"
  /** What it gave never had the shape that was asked for. */
  | "invalid"
  /** A part of it failed, and there is something all the same. */
  | "failed"
  | "paused";
