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

/** Somebody to hand work to, and on what terms. */
export interface SubAgentConfig {
  readonly agent: Agent;
  /** What the model calls it, after `handoff_`: the agent's name, made safe for models. */
  readonly name?: string | undefined;
  /** When to hand work to it: the agent's own description. */
  readonly description?: string | undefined;
  /** NORMAL. Above it, a full tree makes room for it. */
  readonly priority?: Priority | undefined;
  /** For how many seconds its answer is waited for: 120. `null`: as long as it takes. */
  readonly askTimeoutS?: number | null | undefined;
  /** What becomes of it then: `cancel`, or `leave` to let it work on; its answer is then waited for before the lead ends. */
  readonly onTimeout?: HireLeaf["onTimeout"];
  /** What it does when it loses its slot: `park` and go on later, or `return` with what it has. */
  readonly onPreempt?: HireLeaf["onPreempt"];
  /** When every slot is taken: `deny`, or `queue` until one is free. */
  readonly onFull?: HireLeaf["onFull"];
  readonly executionBudget?: ExecutionBudgetOptions | undefined;
  readonly retention?: HistoryRetention | undefined;
}

/** Lets the model define helpers of its own. They hire nobody, and have no tool that is not listed here. */
export interface DynamicHiringOptions {
  /** What a helper may be given, by name. Default: nothing. */
  readonly tools?: readonly (Tool | DelegateTool)[] | undefined;
  /** The orchestrator's. */
  readonly model?: LLMClient | undefined;
  /** Helpers of one run: 5. */
  readonly maxHelpers?: number | undefined;
  /** Model calls of each: 20. */
  readonly maxSteps?: number | undefined;
  readonly executionBudget?: ExecutionBudgetOptions | undefined;
  readonly priority?: Priority | undefined;
  readonly askTimeoutS?: number | null | undefined;
  readonly onPreempt?: HireLeaf["onPreempt"];
  readonly onFull?: HireLeaf["onFull"];
}

export interface OrchestratorAgentOptions<T = unknown> extends LoopOptions<T> {
  readonly subAgents?: readonly SubAgentConfig[] | undefined;
  /** How many agents its tree may have. Counts where it is the root: below one, the root's holds. */
  readonly spawnBudget?: SpawnBudgetOptions | undefined;
  /** Whether and when a helper that crashed is hired again, such as a `RetryPolicy` of `@ravi/supervision`. Default: never. */
  readonly retryPolicy?: RestartPolicy | undefined;
  /** Switched off unless it is given. */
  readonly dynamicHiring?: DynamicHiringOptions | undefined;
}
