import type {
  AbortSignalLike,
  Agent,
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
} from "@ravi/kernel";
import type { RetryOptions } from "@ravi/middleware";
import type { OwnPrices, PriceSource } from "@ravi/resources";
import type { Decisions } from "@ravi/runtime";
import type { Layers } from "../agents/layers.ts";
import type { Budget, TreeLimits } from "../limits.ts";

/** What a run needs around it, whether it starts or goes on. */
export interface HostOptions {
  /** A directory, which is opened and closed by itself, or a journal of one's own. Without one, nothing survives a crash. */
  readonly journal?: string | Journal | undefined;
  readonly hooks?: Hooks | undefined;
  /** Around every agent of the run; an agent's own layers are inside of these. */
  readonly middleware?: Layers | undefined;
  /** How failed model calls are tried again: 3 times, and by one layer only. `false` where something else does it. */
  readonly retry?: RetryOptions | false | undefined;
  /** When a crash of an agent's own code is started again from the journal: `RetryPolicy`, 3 times. */
  readonly restart?: RestartPolicy | false | undefined;
  /** Where conversations are kept: beside the journal, else in the memory of the process. */
  readonly history?: HistoryProvider | undefined;
  readonly compaction?: CompactionStrategy | undefined;
  /** Prices of one's own, in dollars per million tokens, by `model` or `provider:model`. */
  readonly prices?: OwnPrices | PriceSource | undefined;
  /** Holds the model calls of the tree to what the provider takes, such as a `FairPool` of `@ravi/resources`. */
  readonly limiter?: Limiter | undefined;
  readonly permissions?: Permissions | undefined;
  /** Checks raw JSON Schemas. */
  readonly validator?: JsonSchemaValidator | undefined;
  /** Cancels the run, for good. */
  readonly signal?: AbortSignalLike | undefined;
  readonly logger?: Logger | undefined;
  readonly clock?: Clock | undefined;
  readonly ids?: IdSource | undefined;
  /** Sees every event of the run, in order. It cannot change the run; the first thing that it throws is told to the `logger`. */
  readonly onEvent?: ((event: RunEvent) => unknown) | undefined;
  /**
   * Whether Ctrl-C (SIGINT) suspends the run and says how to go on with it; a second one ends the process. Default: only
   * with a journal, at a terminal, in a program that does not listen for the signal itself.
   */
  readonly handleSignals?: boolean | undefined;
}

export interface RunOptions extends HostOptions {
  /** What is left out keeps its default (`DEFAULT_LIMITS`); `null` takes a limit off, or all of them. */
  readonly budget?: Budget | null | undefined;
  readonly tree?: TreeLimits | undefined;
  /** Goes on with a conversation, and keeps what is said. */
  readonly sessionId?: string | undefined;
  readonly runId?: string | undefined;
  readonly tenantId?: string | undefined;
  readonly userId?: string | undefined;
  readonly metadata?: JsonObject | undefined;
  readonly priority?: Priority | undefined;
}

export interface ResumeOptions<T = unknown> extends HostOptions {
  /** The agent that was run, of the same name and version; or several, of which it is one. */
  readonly agents: Agent<T> | readonly Agent<T>[];
  readonly journal: string | Journal;
  /** What becomes of tools that were in flight at the crash, by the key that the suspension names. */
  readonly decisions?: Decisions | undefined;
}

const HOST_OPTIONS = [
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
  ...HOST_OPTIONS,
] as const satisfies readonly (keyof ResumeOptions)[];
