import type { AgentId } from "../core/ids.ts";
import type { SchemaLike } from "../model/schema.ts";
import type { ExecutionBudgetOptions } from "../policy/execution-budget.ts";
import type { SpawnBudgetOptions } from "../policy/spawn-budget.ts";
import type { Hooks } from "../ports/hooks.ts";
import type { Ledger } from "../ports/ledger.ts";
import type { Pipelines } from "../ports/middleware.ts";
import type { Inbox } from "./inbox.ts";
import type { RunContext } from "./run-context.ts";

/**
 * Any object of this shape can be run. It calls models and tools and hires other agents through its context, which enforces the
 * rules.
 */
export interface Agent<T = unknown> {
  readonly id: AgentId;
  /**
   * A recorded run resumes only with the version that it began with (default: `"1"`). Change it when old runs could not be
   * replayed with the new code.
   */
  readonly version?: string | undefined;
  readonly description?: string | undefined;
  /** Called in addition to the runtime's hooks. */
  readonly hooks?: Hooks | undefined;
  /** Middleware of this agent. The runtime's own is outside of it. */
  readonly pipelines?: Pipelines | undefined;
  /** The schema of `structured` in its result. */
  readonly output?: SchemaLike<T> | undefined;
  readonly defaults?: AgentDefaults | undefined;
  /** Does the work. An error that it throws fails the run. */
  run(ctx: RunContext, inbox: Inbox): Promise<AgentResult<T>>;
}

/** The type of an agent's structured result; for a union of agents, the union of their types. */
export type AnswerOf<A> = A extends Agent<infer T> ? T : never;

export interface AgentDefaults {
  /** Used if the agent is the root of a run that gives none. */
  readonly spawnBudget?: SpawnBudgetOptions | undefined;
  /**
   * What the agent may spend at most. If its run or hire has a budget too, the lower limit counts in each dimension. Or a ledger of
   * your own, which each call reserves from in addition.
   */
  readonly executionBudget?: ExecutionBudgetOptions | Ledger | undefined;
}

export interface AgentResult<T = unknown> {
  readonly status: "completed" | "partial" | "paused";
  /** The answer as text; empty if there is none. */
  readonly output: string;
  /** The answer in the shape of the agent's `output` schema. */
  readonly structured?: T | undefined;
  readonly stopReason: StopReason;
  /** What was wrong with the last answer, if `stopReason` is `invalid`: each field, and what was expected there. */
  readonly problem?: string | undefined;
}

/** Why an agent stopped. Anything but `done` means that its answer may be incomplete. */
export type StopReason =
  | "done"
  | "budget"
  | "deadline"
  /** It reached its number of turns, or came to no answer. */
  | "steps"
  /** The model's last answer was cut off at its maximum of output tokens. */
  | "length"
  /** The model refused to answer. */
  | "refused"
  /** The provider's content filter removed the answer. */
  | "filtered"
  /** The agent repeated the same calls. */
  | "loop"
  /** No answer had the shape that was asked for. */
  | "invalid"
  /** A part of the work failed; the result is what is left. */
  | "failed"
  /** It lost its slot and was to return instead of waiting (`onPreempt: "return"`). */
  | "paused";
