import type {
  AbortSignalLike,
  Clock,
  CompactionStrategy,
  DelegateTool,
  ExecutionBudgetOptions,
  Hooks,
  IdSource,
  JsonSchemaValidator,
  Ledger,
  LLMClient,
  ModelRequest,
  Pipelines,
  Tool,
} from "@ravi/kernel";
import type { LoopLimitsOptions } from "@ravi/kernel/loop";
import type { CompactionOptions } from "../compaction/options.ts";
import type { Extension } from "../extensions/extension.ts";
import type { GuardrailSource } from "../guardrails/guardrail.ts";
import type { EphemeralSource } from "../prompt/ephemeral.ts";
import type { PromptOptions } from "../prompt/options.ts";
import type { RetryOptions } from "../retry/policy.ts";
import type { SessionStore } from "../store/store.ts";

export interface SessionAgentOptions {
  /** Without `/`: "session". Hires and hooks go by it. */
  readonly name?: string | undefined;
  readonly model: LLMClient;
  /** Others that `setModel` and extensions may choose from. */
  readonly models?: readonly LLMClient[] | undefined;
  /** Built in: they win over tools of extensions. */
  readonly tools?: readonly (Tool | DelegateTool)[] | undefined;
  /** Helpers that the model can hand work to: each hand-off is a `spawnChild` that is hired. */
  readonly children?: readonly ChildTool[] | undefined;
  /** Where sessions are kept: in memory. */
  readonly store?: SessionStore | undefined;
  /** The session to go on with. Without it a new one is begun; under a runtime it is the run's. */
  readonly sessionId?: string | undefined;
  /** Objects, or paths of files that export one. Files are programs: name only those that you would run. */
  readonly extensions?: readonly (Extension | string)[] | undefined;
  readonly guardrails?: readonly (GuardrailSource | string)[] | undefined;
  /** How often calls may repeat (`LOOP_LIMITS` of the kernel), or `false`. */
  readonly loopDetection?: LoopLimitsOptions | false | undefined;
  /** `false`: never. */
  readonly retry?: RetryOptions | false | undefined;
  readonly compaction?: CompactionStrategy | CompactionOptions | undefined;
  /** A text, or what the prompt is made of. */
  readonly prompt?: PromptOptions | string | undefined;
  /** Live state that goes with each model call and is never written. */
  readonly ephemeral?: readonly EphemeralSource[] | undefined;
  /** Model calls of a turn, without those that failed and were tried again and the one that wraps up: 50. */
  readonly maxSteps?: number | undefined;
  /** Calls of one batch that run at once: all of them. */
  readonly toolConcurrency?: number | undefined;
  /** A longer tool result is cut in the middle, with a notice: 50,000 characters. */
  readonly maxToolResultChars?: number | undefined;
  /** Temperature, `maxOutputTokens` and the like. */
  readonly settings?: Omit<ModelRequest, "messages" | "tools" | "toolChoice" | "output"> | undefined;
  /** Values that are never written: those of environment variables whose names say key, token, secret or password. */
  readonly secrets?: readonly string[] | undefined;
  /** What relative paths go by, and what the model is told: `process.cwd()`. */
  readonly cwd?: string | undefined;
  /** Checks raw JSON Schemas. */
  readonly validator?: JsonSchemaValidator | undefined;
  readonly hooks?: Hooks | undefined;
  /** For runs under a runtime; alone, a session refuses to run with it. */
  readonly middleware?: Pipelines | undefined;
  readonly executionBudget?: ExecutionBudgetOptions | Ledger | undefined;
  readonly version?: string | undefined;
  readonly description?: string | undefined;
  readonly clock?: Clock | undefined;
  readonly ids?: IdSource | undefined;
}

export interface ChildTool {
  readonly name: string;
  /** When to hand work to it. */
  readonly description: string;
  /** What it may call; all that this session may, but for hand-offs. */
  readonly tools?: readonly string[] | undefined;
}

export interface InvokeOptions {
  /** Where the answer is shown: `terminal`, `telegram`, … */
  readonly channel?: string | undefined;
  readonly signal?: AbortSignalLike | undefined;
}

export interface SpawnChildOptions {
  /** The only tools that it may call: all of them. The model is shown all either way, as the provider's cache goes by them. */
  readonly tools?: readonly string[] | undefined;
  readonly name?: string | undefined;
}
