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

/** What a runtime may be given. With nothing given it runs bare: no limit, no journal, nothing in the way. */
export interface RuntimePorts {
  readonly journal?: Journal | undefined;
  /** Where bodies above 256 KB go, for a journal that several machines read. Without it they stay with the journal. */
  readonly blobs?: BlobStore | undefined;
  /** Makes the one headcount of a tree. A snapshot is given by engines that keep them; this one restores from its journal. */
  readonly headcount?: ((root: Supervision, snapshot?: JsonObject) => Headcount) | undefined;
  /** Makes the ledger of a tree's root. */
  readonly ledger?: ((root: Supervision, snapshot?: JsonObject) => Ledger) | undefined;
  readonly meter?: Meter | undefined;
  readonly limiter?: Limiter | undefined;
  readonly hooks?: Hooks | undefined;
  readonly pipelines?: Pipelines | undefined;
  readonly history?: HistoryProvider | undefined;
  readonly compaction?: CompactionStrategy | undefined;
  /** What agents know beyond one conversation; they find it as `ctx.memory`. */
  readonly memory?: Memory | undefined;
  readonly permissions?: Permissions | undefined;
  /** Spans around runs, hires, model calls and tool calls. */
  readonly telemetry?: Telemetry | undefined;
  /** An entry for each hire, denial, approval, tool call and cancellation. What fails in it is logged, and changes no run. */
  readonly auditLog?: AuditLog | undefined;
  /** Whether and when a crashed run is started again from its journal. */
  readonly restart?: RestartPolicy | undefined;
  /** Checks raw JSON Schemas of tools. */
  readonly validator?: JsonSchemaValidator | undefined;
  readonly clock?: Clock | undefined;
  readonly ids?: IdSource | undefined;
  readonly logger?: Logger | undefined;
}

/** The same with everything settled that has a default. */
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
