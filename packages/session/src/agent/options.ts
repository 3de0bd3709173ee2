import type {
  AbortSignalLike,
  Attachment,
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

/** The options of `SessionAgent`. Only `model` is required. */
export interface SessionAgentOptions {
  /** The name of the agent for hires and hooks; it must not contain `/`. Default: `"session"`. */
  readonly name?: string | undefined;
  /** The model that answers. */
  readonly model: LLMClient;
  /** Other models that `setModel` and extensions can choose by their id. */
  readonly models?: readonly LLMClient[] | undefined;
  /** Built-in tools. They take precedence over tools of extensions with the same name. */
  readonly tools?: readonly (Tool | DelegateTool)[] | undefined;
  /** Helpers that the model can hand work to. Each hand-off hires a new child, as `spawnChild` makes it. */
  readonly children?: readonly ChildTool[] | undefined;
  /** Where sessions are stored. Default: in memory. */
  readonly store?: SessionStore | undefined;
  /** The session to continue. Default: a new one; under a runtime, the session of the run. */
  readonly sessionId?: string | undefined;
  /**
   * Extension objects, or paths of modules that export one as default. A module runs with all rights of this process: name only
   * files that you would run.
   */
  readonly extensions?: readonly (Extension | string)[] | undefined;
  /** Guardrails, functions that create one, or paths of modules that export either as default. */
  readonly guardrails?: readonly (GuardrailSource | string)[] | undefined;
  /**
   * How often calls may repeat before a warning, a refusal or the end of the turn. Default: `LOOP_LIMITS` of the kernel. `false`: any
   * number of times.
   */
  readonly loopDetection?: LoopLimitsOptions | false | undefined;
  /** How failed model calls are retried. Default: up to 3 times in a row. `false`: never. */
  readonly retry?: RetryOptions | false | undefined;
  /** How a long conversation is shortened: a strategy, or a strategy with options. Default: it is not. */
  readonly compaction?: CompactionStrategy | CompactionOptions | undefined;
  /** The system prompt as a text, or the parts that it is built from. */
  readonly prompt?: PromptOptions | string | undefined;
  /** Live state, such as a screen, that is added to each model call and never stored in the session. */
  readonly ephemeral?: readonly EphemeralSource[] | undefined;
  /** The most model calls of a turn, not counting failed attempts and the last call that wraps up. Default: 50. */
  readonly maxSteps?: number | undefined;
  /** How many calls of one batch run at the same time. Default: all. */
  readonly toolConcurrency?: number | undefined;
  /** A longer tool result is cut in the middle, with a notice. In characters; default: 50,000. */
  readonly maxToolResultChars?: number | undefined;
  /** Settings for every model call, such as temperature and `maxOutputTokens`. */
  readonly settings?: Omit<ModelRequest, "messages" | "tools" | "toolChoice" | "output"> | undefined;
  /**
   * Values of 8 characters or more that are replaced by `[secret]` in what is stored, except in the user's own messages. Shorter
   * ones are ignored, because they would be found inside of ordinary words. Default: the values of environment variables whose
   * names end in KEY, TOKEN, SECRET, PASSWORD and the like.
   */
  readonly secrets?: readonly string[] | undefined;
  /** The directory that relative paths are resolved against, and that the model is told. Default: `process.cwd()`. */
  readonly cwd?: string | undefined;
  /** Checks values against plain JSON Schemas. Not needed for schemas that check themselves, such as those of zod. */
  readonly validator?: JsonSchemaValidator | undefined;
  readonly hooks?: Hooks | undefined;
  /** Only for runs under a runtime: with it, `invoke` throws. */
  readonly middleware?: Pipelines | undefined;
  /** What a run under a runtime may spend. Only for such runs: with it, `invoke` throws. */
  readonly executionBudget?: ExecutionBudgetOptions | Ledger | undefined;
  readonly version?: string | undefined;
  readonly description?: string | undefined;
  readonly clock?: Clock | undefined;
  readonly ids?: IdSource | undefined;
}

/** A helper that the model can hand work to. */
export interface ChildTool {
  readonly name: string;
  /** Tells the model when to hand work to it. */
  readonly description: string;
  /** The names of the tools that it may call. Default: all tools of this session, except hand-offs. */
  readonly tools?: readonly string[] | undefined;
  /** `inherit`: it gets the pictures and files that came with the input of the turn. Default: only its task, as text. */
  readonly attachments?: DelegateTool["attachments"];
}

/** The options of `invoke`. */
export interface InvokeOptions {
  /** Where the answer is shown, such as `terminal` or `telegram`. It selects a hint in the system prompt. */
  readonly channel?: string | undefined;
  /** Pictures and files that come with the input. */
  readonly attachments?: readonly Attachment[] | undefined;
  /** Aborts the turn. */
  readonly signal?: AbortSignalLike | undefined;
}

/** The options of `spawnChild`. */
export interface SpawnChildOptions {
  /**
   * The names of the only tools that it may call. Default: all. The model is shown all tools in either case, so that the
   * provider's prompt cache still matches.
   */
  readonly tools?: readonly string[] | undefined;
  /** Default: the name of this agent, followed by `-child`. */
  readonly name?: string | undefined;
}
