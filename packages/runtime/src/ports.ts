import {
  type Clock,
  type CompactionStrategy,
  type Headcount,
  type HistoryProvider,
  type Hooks,
  type IdSource,
  type Journal,
  type JsonSchemaValidator,
  type Ledger,
  type Limiter,
  type Logger,
  type Meter,
  NO_HOOKS,
  type Permissions,
  type Pipelines,
  type RestartPolicy,
  type Supervision,
  systemIds,
} from "@ravi/kernel";
import { wallClock } from "./wall-clock.ts";

/** What a runtime may be given. With nothing given it runs bare: no limit, no journal, nothing in the way. */
export interface RuntimePorts {
  readonly journal?: Journal | undefined;
  /** Makes the one headcount of a tree. */
  readonly headcount?: ((root: Supervision) => Headcount) | undefined;
  /** Makes the ledger of a tree's root. */
  readonly ledger?: ((root: Supervision) => Ledger) | undefined;
  readonly meter?: Meter | undefined;
  readonly limiter?: Limiter | undefined;
  readonly hooks?: Hooks | undefined;
  readonly pipelines?: Pipelines | undefined;
  readonly history?: HistoryProvider | undefined;
  readonly compaction?: CompactionStrategy | undefined;
  readonly permissions?: Permissions | undefined;
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
  return {
    ...given,
    hooks: given.hooks ?? NO_HOOKS,
    clock: given.clock ?? wallClock,
    ids: given.ids ?? systemIds,
  };
}
