import type { AgentContext, RunContext } from "../../agent/run-context.ts";
import type { Clock } from "../../core/clock.ts";
import type { MaybePromise } from "../../core/types.ts";
import type { LLMClient, ModelRequest } from "../../model/llm.ts";
import type { JsonSchemaValidator, SchemaLike } from "../../model/schema.ts";
import type { DelegateTool, Tool } from "../../model/tool.ts";
import type { ExecutionBudgetOptions } from "../../policy/execution-budget.ts";
import type { Hooks } from "../../ports/hooks.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { Pipelines } from "../../ports/middleware.ts";
import type { LoopLimitsOptions } from "../loop-detection.ts";

/** Made once for each run. A replay makes it again, so it must go by what the context says (`ctx.now()`, not `Date.now()`). */
export type Instructions = string | ((ctx: RunContext, input: string) => MaybePromise<string>);

/** What goes with every request beside messages, tools and output. */
export type ModelSettings = Omit<ModelRequest, "messages" | "tools" | "toolChoice" | "output">;

/** What an agent takes that is built on `toolLoop`. */
export interface LoopOptions<T = unknown> {
  /** Without `/`. Histories, hires and hooks go by it. */
  readonly name: string;
  readonly model: LLMClient;
  /** The system prompt. */
  readonly instructions?: Instructions | undefined;
  readonly tools?: readonly (Tool | DelegateTool)[] | undefined;
  readonly hooks?: Hooks | undefined;
  readonly middleware?: Pipelines | undefined;
  /** What each run of it may spend, or a ledger of the user's own that is reserved from in addition. */
  readonly executionBudget?: ExecutionBudgetOptions | Ledger | undefined;
  /**
   * A conversation of the user's own, which comes before the run's messages; read once, when the run starts. A resumed run
   * must find the same there.
   */
  readonly context?: AgentContext | undefined;
  /** The shape of the final answer. With it, `result.structured` has its type. */
  readonly output?: SchemaLike<T> | undefined;
  /** How often the model may try again when its answer does not fit `output`: 2. */
  readonly outputRetries?: number | undefined;
  /**
   * What it does when its budget is used up: `land` with what it has, or `ask` for more (`ctx.requestBudget`) and land only
   * when that is refused. Default: land.
   */
  readonly onBudget?: "land" | "ask" | undefined;
  /** Model calls of a run, without the one that wraps up: 50. */
  readonly maxSteps?: number | undefined;
  /** Calls of one turn that run at once: all of them. */
  readonly toolConcurrency?: number | undefined;
  /** A longer tool result is cut in the middle, with a notice: 50,000 characters. */
  readonly maxToolResultChars?: number | undefined;
  /** How often calls may repeat (`LOOP_LIMITS` of the kernel), or `false` for a tool that is meant to be called again and again. */
  readonly loopDetection?: LoopLimitsOptions | false | undefined;
  /** Temperature, `maxOutputTokens` and the like. */
  readonly settings?: ModelSettings | undefined;
  /** Checks raw JSON Schemas, of `output`, tools and hand-offs. Without it the run's does. */
  readonly validator?: JsonSchemaValidator | undefined;
  /** Change it when a recorded run could not be replayed with the new definition. */
  readonly version?: string | undefined;
  /** What it is good at, for whoever hands work to it. */
  readonly description?: string | undefined;
  /** Stamps the STEP and HANDOFF hooks, instead of the run's clock; nothing is decided by it. */
  readonly clock?: Clock | undefined;
}
