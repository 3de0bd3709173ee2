import type {
  Agent,
  DelegateTool,
  ExecutionBudgetOptions,
  HireLeaf,
  HistoryRetention,
  LLMClient,
  Priority,
  RestartPolicy,
  SpawnBudgetOptions,
  Tool,
} from "@ravi/kernel";
import type { LoopOptions } from "@ravi/kernel/loop";

/** An agent to hand work to, and the terms of its hire. */
export interface SubAgentConfig {
  readonly agent: Agent;
  /**
   * The tool's name after `handoff_`. Default: the agent's name, with other characters than letters, digits, `_` and `-`
   * replaced.
   */
  readonly name?: string | undefined;
  /** Tells the model when to hand work to this agent. Default: the agent's own description. */
  readonly description?: string | undefined;
  /** `inherit`: it gets the pictures and files that came with the orchestrator's input. Default: only the task, as text. */
  readonly attachments?: DelegateTool["attachments"];
  /** Default: NORMAL. If no slot is free, a HIGH or CRITICAL agent takes the slot of a less important one. */
  readonly priority?: Priority | undefined;
  /** How many seconds to wait for its answer. Default: 120. `null`: no limit. */
  readonly askTimeoutS?: number | null | undefined;
  /**
   * What happens to it after that time. `cancel` stops it; `leave` lets it work on, and its answer is awaited before the
   * orchestrator ends. Default: `cancel`.
   */
  readonly onTimeout?: HireLeaf["onTimeout"];
  /**
   * What it does when its slot is taken: `park` waits for another one and continues, `return` returns what it has. Default:
   * `park`.
   */
  readonly onPreempt?: HireLeaf["onPreempt"];
  /** What happens if no slot is free: `deny` the hire, or `queue` until one is. Default: `deny`. */
  readonly onFull?: HireLeaf["onFull"];
  /** What it may spend. Default: the orchestrator's budget. */
  readonly executionBudget?: ExecutionBudgetOptions | undefined;
  /** How long its history is kept. Default: for the run. */
  readonly retention?: HistoryRetention | undefined;
}

/**
 * Lets the model define its own helpers. They have only the tools that are listed here, and hire nobody unless one of those is a
 * delegate.
 */
export interface DynamicHiringOptions {
  /** The tools that a helper may be given, by name. Default: none. */
  readonly tools?: readonly (Tool | DelegateTool)[] | undefined;
  /** Default: the orchestrator's. */
  readonly model?: LLMClient | undefined;
  /** The maximum number of helpers in one run. Default: 5. */
  readonly maxHelpers?: number | undefined;
  /** The maximum number of model calls of each helper. Default: 20. */
  readonly maxSteps?: number | undefined;
  /** What each helper may spend. Default: the orchestrator's budget. */
  readonly executionBudget?: ExecutionBudgetOptions | undefined;
  /** Default: NORMAL. If no slot is free, a HIGH or CRITICAL helper takes the slot of a less important agent. */
  readonly priority?: Priority | undefined;
  /** How many seconds to wait for its answer. Default: 120. `null`: no limit. */
  readonly askTimeoutS?: number | null | undefined;
  /** What a helper does when its slot is taken: `park` waits for another one, `return` returns what it has. Default: `park`. */
  readonly onPreempt?: HireLeaf["onPreempt"];
  /** What happens if no slot is free: `deny` the hire, or `queue` until one is. Default: `deny`. */
  readonly onFull?: HireLeaf["onFull"];
  /** `inherit`: helpers get the pictures and files that came with the orchestrator's input. Default: only their task, as text. */
  readonly attachments?: DelegateTool["attachments"];
}

/** Options of an `OrchestratorAgent`: those of every loop agent, and its sub-agents. */
export interface OrchestratorAgentOptions<T = unknown> extends LoopOptions<T> {
  /** The agents that the model can hand work to. At least one, unless `dynamicHiring` is given. */
  readonly subAgents?: readonly SubAgentConfig[] | undefined;
  /** The headcount limits of its tree. Used only if it is the root of a run; otherwise the root's limits apply. */
  readonly spawnBudget?: SpawnBudgetOptions | undefined;
  /**
   * Whether and when a sub-agent that crashed is hired again, for example a `RetryPolicy` of `@ravi/supervision`. Default: never.
   */
  readonly retryPolicy?: RestartPolicy | undefined;
  /** Default: off. */
  readonly dynamicHiring?: DynamicHiringOptions | undefined;
}
