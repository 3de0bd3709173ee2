import type {
  AbortSignalLike,
  Agent,
  Attachment,
  AuditLog,
  Clock,
  CompactionStrategy,
  HistoryProvider,
  Hooks,
  IdSource,
  Journal,
  JsonObject,
  JsonSchemaValidator,
  Limiter,
  Logger,
  Permissions,
  Priority,
  RestartPolicy,
  RunEvent,
  Telemetry,
} from "@ravi/kernel";
import type { RetryOptions } from "@ravi/middleware";
import type { OwnPrices, PriceSource } from "@ravi/resources";
import type { Decisions } from "@ravi/runtime";
import type { Layers } from "../agents/layers.ts";
import type { Budget, TreeLimits } from "../limits.ts";

/** The options that both `run` and `resume` take. */
export interface HostOptions {
  /**
   * A directory, which is opened for the run and closed after it, or a journal that you have opened. Without one, nothing
   * survives a crash.
   */
  readonly journal?: string | Journal | undefined;
  /** Listeners for what happens in the run, such as a `HookManager`. */
  readonly hooks?: Hooks | undefined;
  /** Layers around every agent of the run. An agent's own layers are inside of these. */
  readonly middleware?: Layers | undefined;
  /** How failed model calls are retried. Default: up to 3 times, unless another layer retries already. `false`: not at all. */
  readonly retry?: RetryOptions | false | undefined;
  /**
   * When an agent whose own code crashed is started again from the journal, which it needs. Default: `RetryPolicy`, which is 3
   * times. `false`: never.
   */
  readonly restart?: RestartPolicy | false | undefined;
  /**
   * Where conversations are stored. Default: in `sessions/` beside the journal; without a journal directory, in the memory of
   * the process.
   */
  readonly history?: HistoryProvider | undefined;
  /** How a long conversation is shortened, such as a `SlidingWindow` of `@ravi/context`. Default: it is not. */
  readonly compaction?: CompactionStrategy | undefined;
  /**
   * Your own prices in dollars per million tokens, by `model` or `provider:model`, in addition to the built-in ones. Or a price
   * source that replaces them.
   */
  readonly prices?: OwnPrices | PriceSource | undefined;
  /** Limits the model calls of the tree to what the provider accepts, such as a `FairPool` of `@ravi/resources`. */
  readonly limiter?: Limiter | undefined;
  /** Decides which calls are allowed. Default: all. */
  readonly permissions?: Permissions | undefined;
  /** Gets a span around the run and every hire, model call and tool call. `examples/tracing` connects it to OpenTelemetry. */
  readonly telemetry?: Telemetry | undefined;
  /** Gets an entry for every hire, denial, approval, tool call and cancellation. */
  readonly auditLog?: AuditLog | undefined;
  /** Checks values against plain JSON Schemas. Not needed for schemas that check themselves, such as those of zod. */
  readonly validator?: JsonSchemaValidator | undefined;
  /** Aborting it cancels the run, for good. */
  readonly signal?: AbortSignalLike | undefined;
  /** Gets messages about what goes wrong beside the run, such as an audit entry that could not be stored. Default: none. */
  readonly logger?: Logger | undefined;
  /** Tells the time, and sets timers. Default: the real clock. */
  readonly clock?: Clock | undefined;
  /** Makes ids and random numbers. Default: random UUIDs and `Math.random`. */
  readonly ids?: IdSource | undefined;
  /** Gets every event of the run, in order. It cannot change the run; the first error that it throws is logged to `logger`. */
  readonly onEvent?: ((event: RunEvent) => unknown) | undefined;
  /**
   * Whether Ctrl-C (SIGINT) suspends the run and prints how to resume it; a second one ends the process. Default: only with a
   * journal, if standard error is a terminal and the program does not listen for the signal itself.
   */
  readonly handleSignals?: boolean | undefined;
}

/** The options of `run`, `start` and `estimate`. */
export interface RunOptions extends HostOptions {
  /** A limit that is left out keeps its default (`DEFAULT_LIMITS`). `null` removes one limit, or all of them. */
  readonly budget?: Budget | null | undefined;
  /** How large the tree of agents may grow. */
  readonly tree?: TreeLimits | undefined;
  /** Pictures and files that come with the input: `[{ type: "image", url }]`, with `data:` or `https:` URLs. */
  readonly attachments?: readonly Attachment[] | undefined;
  /** Continues this conversation, and stores what is said. Without it nothing is stored. */
  readonly sessionId?: string | undefined;
  /** Default: a new one. `run` rejects if the journal has it already; without a journal, if a run of this process has it now. */
  readonly runId?: string | undefined;
  /** Whom the run works for, as tools, layers and permissions read it in `scope.tenantId`. */
  readonly tenantId?: string | undefined;
  /** The same in `scope.userId`. Each user has a memory of their own. */
  readonly userId?: string | undefined;
  /** Anything else to tell them, in `scope.metadata`. */
  readonly metadata?: JsonObject | undefined;
  /** Of the root agent. Default: `Priority.NORMAL`. */
  readonly priority?: Priority | undefined;
}

/**
 * The options of `resume` and `startResume`. `A` is the type of the agent, or the union of the types of several. The limits of the run are
 * on record and cannot be given again.
 */
export interface ResumeOptionsFor<A extends Agent> extends HostOptions {
  /** The agent that was run, with the same name and version. Or several agents, one of which is that agent. */
  readonly agents: A | readonly A[];
  /** The directory or the journal that the run was recorded in. */
  readonly journal: string | Journal;
  /** What to do about tool calls that were in flight at the crash, by the keys that the suspended run's `error` names. */
  readonly decisions?: Decisions | undefined;
  /**
   * Whether a run that has failed is continued too, for instance after an outage or with another key. The model calls and hires that it
   * failed with are made again; everything else comes from the record. So is one that is `partial` because a part of it failed (its
   * `stopReason` is `failed`), unless that part of an answer is in a conversation by now. Default: false.
   */
  readonly retryFailed?: boolean | undefined;
}

/** The same for agents whose results are of the type `T`. */
export type ResumeOptions<T = unknown> = ResumeOptionsFor<Agent<T>>;

export const HOST_OPTIONS = [
  "journal",
  "hooks",
  "middleware",
  "retry",
  "restart",
  "history",
  "compaction",
  "prices",
  "limiter",
  "permissions",
  "telemetry",
  "auditLog",
  "validator",
  "signal",
  "logger",
  "clock",
  "ids",
  "onEvent",
  "handleSignals",
] as const satisfies readonly (keyof HostOptions)[];

export const RUN_OPTIONS = [
  "budget",
  "tree",
  "attachments",
  ...HOST_OPTIONS,
  "sessionId",
  "runId",
  "tenantId",
  "userId",
  "metadata",
  "priority",
] as const satisfies readonly (keyof RunOptions)[];

export const RESUME_OPTIONS = [
  "agents",
  "decisions",
  "retryFailed",
  ...HOST_OPTIONS,
] as const satisfies readonly (keyof ResumeOptions)[];
