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
  /** The agent's name, as hires and hooks have it. Without `/`. Default: `"session"`. */
  readonly name?: string | undefined;
  readonly model: LLMClient;
  /** Further models that `setModel` and extensions may choose from. */
  readonly models?: readonly LLMClient[] | undefined;
  /** Tools of the session. They take precedence over tools of extensions with the same name. */
  readonly tools?: readonly (Tool | DelegateTool)[] | undefined;
  /** Helpers that the model can hand work to. For each hand-off a `spawnChild` is hired. */
  readonly children?: readonly ChildTool[] | undefined;
  /** Where sessions are stored. Default: in memory. */
  readonly store?: SessionStore | undefined;
  /** The session to continue. Default: a new one; under a runtime, that of the run. */
  readonly sessionId?: string | undefined;
  /** Extensions, or paths of files that export one. The files are executed: name only files that you trust. */
  readonly extensions?: readonly (Extension | string)[] | undefined;
  readonly guardrails?: readonly (GuardrailSource | string)[] | undefined;
  /** How often calls may be repeated; `false` for no limit. Default: `LOOP_LIMITS` of the kernel. */
  readonly loopDetection?: LoopLimitsOptions | false | undefined;
  /** How failed model calls are retried; `false` for never. */
  readonly retry?: RetryOptions | false | undefined;
  readonly compaction?: CompactionStrategy | CompactionOptions | undefined;
  /** The system prompt, or what it is made of. */
  readonly prompt?: PromptOptions | string | undefined;
  /** Current state that is sent with each model call and never stored. */
  readonly ephemeral?: readonly EphemeralSource[] | undefined;
  /** The most model calls in a turn, not counting retries and the final one that wraps up. Default: 50. */
  readonly maxSteps?: number | undefined;
  /** How many tool calls of one answer run concurrently. Default: all. */
  readonly toolConcurrency?: number | undefined;
  /** A longer tool result is shortened in the middle, with a notice. Default: 50,000 characters. */
  readonly maxToolResultChars?: number | undefined;
  /** Settings of model calls, such as `temperature` and `maxOutputTokens`. */
  readonly settings?: Omit<ModelRequest, "messages" | "tools" | "toolChoice" | "output"> | undefined;
  /** Values that are never stored. Default: those of environment variables with key, token, secret or password in their names. */
  readonly secrets?: readonly string[] | undefined;
  /** The directory for relative paths; the model is told of it. Default: `process.cwd()`. */
  readonly cwd?: string | undefined;
  /** Checks the arguments of tools whose schema is a raw JSON Schema. */
  readonly validator?: JsonSchemaValidator | undefined;
  readonly hooks?: Hooks | undefined;
  /** Middleware for runs under a runtime. `invoke` refuses to run with it. */
  readonly middleware?: Pipelines | undefined;
  readonly executionBudget?: ExecutionBudgetOptions | Ledger | undefined;
  readonly version?: string | undefined;
  readonly description?: string | undefined;
  readonly clock?: Clock | undefined;
  readonly ids?: IdSource | undefined;
}

export interface ChildTool {
  readonly name: string;
  /** Tells the model when to hand work to it. */
  readonly description: string;
  /** The tools that it may call. Default: all of this session, without hand-offs. */
  readonly tools?: readonly string[] | undefined;
}

export interface InvokeOptions {
  /** Where the answer is shown, such as `terminal` or `telegram`. */
  readonly channel?: string | undefined;
  readonly signal?: AbortSignalLike | undefined;
}

export interface SpawnChildOptions {
  /** The tools that it may call. Default: all. The model is always shown all of them, so that the provider's cache is used. */
  readonly tools?: readonly string[] | undefined;
  readonly name?: string | undefined;
}
