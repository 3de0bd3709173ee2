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

/**
 * The system prompt, or a function that returns it, called once for each run. A replay calls it again, so it must depend on the
 * context only (`ctx.now()`, not `Date.now()`).
 */
export type Instructions = string | ((ctx: RunContext, input: string) => MaybePromise<string>);

/** Settings that are sent with every request, such as the temperature. */
export type ModelSettings = Omit<ModelRequest, "messages" | "tools" | "toolChoice" | "output">;

/** The options of an agent that is built on `toolLoop`. */
export interface LoopOptions<T = unknown> {
  /** Identifies the agent in histories, hires and hooks. Must not contain `/`. */
  readonly name: string;
  readonly model: LLMClient;
  /** The system prompt. Default: none. */
  readonly instructions?: Instructions | undefined;
  /** Tools, and other agents as tools (`asDelegate()`). Names must be unique. Default: none. */
  readonly tools?: readonly (Tool | DelegateTool)[] | undefined;
  /** Called in addition to the run's hooks. */
  readonly hooks?: Hooks | undefined;
  /** Middleware around this agent's runs, model calls and tool calls. It needs a runtime. */
  readonly middleware?: Pipelines | undefined;
  /** What each run of this agent may spend, or your own ledger, which each call reserves from in addition. It needs a runtime. */
  readonly executionBudget?: ExecutionBudgetOptions | Ledger | undefined;
  /**
   * Your own conversation, which is put before the run's messages. It is read once, when the run starts; a resumed run must find
   * the same.
   */
  readonly context?: AgentContext | undefined;
  /** The schema of the final answer. With it, `result.structured` has its type. Default: none, the answer is text. */
  readonly output?: SchemaLike<T> | undefined;
  /** How often the model may try again if its answer does not match `output`. Default: 2. */
  readonly outputRetries?: number | undefined;
  /**
   * What happens when the budget is used up: `land` ends with what it has; `ask` asks for more (`ctx.requestBudget`), and ends
   * only if that is refused. Default: `land`.
   */
  readonly onBudget?: "land" | "ask" | undefined;
  /** The maximum number of model calls in a run, not counting the last one that wraps up. Default: 50. */
  readonly maxSteps?: number | undefined;
  /** How many calls of one turn run at the same time. Default: all. */
  readonly toolConcurrency?: number | undefined;
  /** A longer tool result is cut in the middle, with a notice. Characters; default: 50,000. */
  readonly maxToolResultChars?: number | undefined;
  /**
   * How often calls may repeat, or `false` for no limit (for tools that are meant to be called again and again). Default:
   * `LOOP_LIMITS` of the kernel.
   */
  readonly loopDetection?: LoopLimitsOptions | false | undefined;
  /** Temperature, `maxOutputTokens` and other settings of every request. Default: the provider's. */
  readonly settings?: ModelSettings | undefined;
  /** Checks raw JSON Schemas of `output`, tools and hand-offs. Default: the run's validator. */
  readonly validator?: JsonSchemaValidator | undefined;
  /**
   * A recorded run resumes only with the version that it began with. Change it if old runs could not be replayed with the new
   * definition. Default: "1".
   */
  readonly version?: string | undefined;
  /** What the agent is good at, for agents that hand work to it. */
  readonly description?: string | undefined;
  /** The time in STEP and HANDOFF hooks. Default: the run's clock. Nothing is decided by it. */
  readonly clock?: Clock | undefined;
}
