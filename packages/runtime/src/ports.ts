import {
  type AuditLog,
  type BlobStore,
  type Clock,
  type CompactionStrategy,
  type Headcount,
  type HistoryProvider,
  type Hooks,
  type IdSource,
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
import { withBlobs } from "./journal/with-blobs.ts";
import { wallClock } from "./wall-clock.ts";

/** The services of a runtime. All are optional: without any there are no limits and no journal. */
export interface RuntimePorts {
  /** Records runs, so that they can be resumed after a crash. */
  readonly journal?: Journal | undefined;
  /** Stores bodies above 256 KB, for a journal that several machines read. Default: they are stored in the journal. */
  readonly blobs?: BlobStore | undefined;
  /** Makes the headcount of a tree. This runtime restores it from the journal and gives no `snapshot`; other engines may. */
  readonly headcount?: ((root: Supervision, snapshot?: JsonObject) => Headcount) | undefined;
  /** Makes the ledger of the root of a tree. Required for limits on what may be spent. */
  readonly ledger?: ((root: Supervision, snapshot?: JsonObject) => Ledger) | undefined;
  /** Estimates and prices model calls. */
  readonly meter?: Meter | undefined;
  /** Keeps model calls within the provider's rate limits. */
  readonly limiter?: Limiter | undefined;
  readonly hooks?: Hooks | undefined;
  /** Middleware around all agents. An agent's own is inside of it. */
  readonly pipelines?: Pipelines | undefined;
  readonly history?: HistoryProvider | undefined;
  readonly compaction?: CompactionStrategy | undefined;
  /** What agents remember beyond one conversation, as `ctx.memory`. */
  readonly memory?: Memory | undefined;
  readonly permissions?: Permissions | undefined;
  /** Gets spans around runs, hires, model calls and tool calls. */
  readonly telemetry?: Telemetry | undefined;
  /** Gets an entry for each hire, denial, approval, tool call and cancellation. If it fails, that is logged and the run goes on. */
  readonly auditLog?: AuditLog | undefined;
  /** Decides whether and when a crashed run is started again from its journal. Default: never. */
  readonly restart?: RestartPolicy | undefined;
  /** Checks the arguments of tools whose schema is a raw JSON Schema. */
  readonly validator?: JsonSchemaValidator | undefined;
  readonly clock?: Clock | undefined;
  readonly ids?: IdSource | undefined;
  readonly logger?: Logger | undefined;
}

/** The services, with defaults filled in. */
export interface Ports extends RuntimePorts {
  readonly hooks: Hooks;
  readonly clock: Clock;
  readonly ids: IdSource;
}

export function settlePorts(given: RuntimePorts): Ports {
  checkPorts("runtime options", given);
  const { journal, blobs } = given;
  return {
    ...given,
    journal: journal === undefined || blobs === undefined ? journal : withBlobs(journal, blobs),
    hooks: guardedHooks(given.hooks ?? NO_HOOKS, given.logger),
    clock: given.clock ?? wallClock,
    ids: given.ids ?? systemIds,
  };
}
