import {
  type AuditLog,
  type BlobStore,
  type Clock,
  type CompactionStrategy,
  type Headcount,
  type HistoryProvider,
  type Hooks,
  type IdSource,
  InvalidValueError,
  type Journal,
  type JsonObject,
  type JsonSchemaValidator,
  type Ledger,
  type Limiter,
  type Logger,
  type Memory,
  type Meter,
  NO_HOOKS,
  type Permissions,
  type Pipelines,
  type RestartPolicy,
  type Supervision,
  systemIds,
  type Telemetry,
} from "@ravi/kernel";
import { checkPorts, guardedHooks } from "@ravi/kernel/loop";
import { withBlobs } from "./journal/entries/with-blobs.ts";
import { wallClock } from "./wall-clock.ts";

/** What a runtime may be given. Everything is optional: without options there are no limits and no journal. */
export interface RuntimePorts {
  /** Records every run, so that it can be resumed. Default: none. */
  readonly journal?: Journal | undefined;
  /** A store for bodies above 256 KB, for a journal that several machines read. Default: they stay in the journal. */
  readonly blobs?: BlobStore | undefined;
  /**
   * Creates the headcount of a tree. `snapshot` is only given by engines that store one; this runtime restores from its journal.
   * Default: none, and a run with limits on agents is refused.
   */
  readonly headcount?: ((root: Supervision, snapshot?: JsonObject) => Headcount) | undefined;
  /**
   * Creates the ledger of a tree's root. `facts` is what `run` was given, also for a resumed run. Default: none, and a run with limits on
   * spending is refused.
   */
  readonly ledger?: ((root: Supervision, snapshot?: JsonObject, facts?: JsonObject) => Ledger) | undefined;
  /** Estimates and prices model calls. Default: none; tokens are then estimated, and limits in dollars refuse every call. */
  readonly meter?: Meter | undefined;
  /** Limits the model calls of all agents to what the provider accepts. Default: none. */
  readonly limiter?: Limiter | undefined;
  /** Observers of every agent, in addition to its own. Default: none. */
  readonly hooks?: Hooks | undefined;
  /** Layers around every agent, outside of its own. Default: none. */
  readonly pipelines?: Pipelines | undefined;
  /** Stores conversations that span several runs. Default: none. */
  readonly history?: HistoryProvider | undefined;
  /** Makes a conversation fit into the prompt. Default: none. */
  readonly compaction?: CompactionStrategy | undefined;
  /** What agents remember beyond one conversation. They find it as `ctx.memory`. Default: none. */
  readonly memory?: Memory | undefined;
  /** Decides which models, tools and hires an agent may use. If it throws, that is denied. Default: everything is allowed. */
  readonly permissions?: Permissions | undefined;
  /** Gets spans around runs, hires, model calls and tool calls. Default: none. */
  readonly telemetry?: Telemetry | undefined;
  /**
   * Gets an entry for each hire, denial, approval, tool call and cancellation. Its errors are logged and do not affect the run.
   * Default: none.
   */
  readonly auditLog?: AuditLog | undefined;
  /** Whether and when a root whose own code threw is restarted from its journal, which it needs. Default: never. */
  readonly restart?: RestartPolicy | undefined;
  /** Checks raw JSON Schemas of tools. Default: none. */
  readonly validator?: JsonSchemaValidator | undefined;
  /** Default: real time. */
  readonly clock?: Clock | undefined;
  /** The source of run ids. Default: random. */
  readonly ids?: IdSource | undefined;
  /** Gets warnings and errors that do not fail a run. Default: no logging. */
  readonly logger?: Logger | undefined;
}

/** The ports after the defaults were applied. */
export interface Ports extends RuntimePorts {
  readonly hooks: Hooks;
  readonly clock: Clock;
  readonly ids: IdSource;
}

/** Checks the ports and applies the defaults. Throws an `InvalidValueError`. */
export function resolvePorts(given: RuntimePorts): Ports {
  // By name: they may be getters of a class, and a list of names makes it ten times as slow. A runtime of the sdk is made for each run.
  const { journal, blobs, headcount, ledger, meter, limiter, hooks, pipelines, history, compaction } = given;
  const { memory, permissions, telemetry, auditLog, restart, validator, clock, ids, logger } = given;
  const ports = {
    journal,
    blobs,
    headcount,
    ledger,
    meter,
    limiter,
    hooks,
    pipelines,
    history,
    compaction,
    memory,
    permissions,
    telemetry,
    auditLog,
    restart,
    validator,
    clock,
    ids,
    logger,
  } satisfies Required<RuntimePorts>;
  checkPorts("runtime options", ports);
  if (restart !== undefined && journal === undefined)
    throw new InvalidValueError({
      field: "runtime options.restart",
      value: restart,
      expected:
        "a runtime with a journal, from which a root is restarted: new Runtime({ journal: new MemoryJournal(), restart })",
    });
  return {
    ...ports,
    journal: journal === undefined || blobs === undefined ? journal : withBlobs(journal, blobs),
    hooks: guardedHooks(hooks ?? NO_HOOKS, logger),
    clock: clock ?? wallClock,
    ids: ids ?? systemIds,
  };
}
