import type {
  Agent,
  BlobStore,
  Clock,
  ContextPorts,
  CreateRunContext,
  Hooks,
  IdSource,
  RestartPolicy,
} from "@ravi/kernel";
import type { LedgerFactory } from "./root/tree-ledgers.ts";
import type { HeadcountFactory } from "./root/seats.ts";

/** Options of `restateRuntime()`, in addition to the ports of the context. `createContext`, `ingress` and `admin` are required. */
export interface RestateRuntimeOptions extends Omit<ContextPorts, "clock" | "ids" | "hooks"> {
  /**
   * The agents that this worker runs, in every version that a run may be pinned to. `run` adds the agent that it is given. Default:
   * none.
   */
  readonly agents?: readonly Agent[] | undefined;
  /** Give `createRunContext` of `@ravi/runtime`. It enforces the rules, which are the same with every engine. */
  readonly createContext: CreateRunContext;
  /** The URL of the server's ingress, such as `http://localhost:8080`. */
  readonly ingress: string;
  /** The URL of the server's admin API, such as `http://localhost:9070`. Used by `list`, `delete`, `resume`, `cancel` and `deploy`. */
  readonly admin: string;
  /**
   * Creates the headcount of a tree, or restores it from a snapshot: `(root, snapshot) => snapshot ? SpawnTracker.restore(snapshot)
   * : …`. Default: none, and a run with a spawn budget is refused.
   */
  readonly headcount?: HeadcountFactory | undefined;
  /**
   * Creates the ledger of a tree's root. It is called for every message, and the ledger is told with `charge` what was spent so
   * far. Default: none, and a run with limits is refused.
   */
  readonly ledger?: LedgerFactory | undefined;
  /** A store that all workers share, for outcomes above 256 KB. Default: none; they are then kept at the server, up to 8 MiB. */
  readonly blobs?: BlobStore | undefined;
  /** Called in addition to the agents' hooks. Default: none. */
  readonly hooks?: Hooks | undefined;
  /**
   * Whether a root whose own code threw is restarted from its record. The tree counts the crashes over all workers. Default: never.
   */
  readonly restart?: RestartPolicy | undefined;
  /** Default: real time. */
  readonly clock?: Clock | undefined;
  /** The source of run ids. Default: random. */
  readonly ids?: IdSource | undefined;
  /**
   * Whether model calls are streamed to the run's topic. Each batch of events is a message to the server. If not, observers are told
   * nothing of what models say. Default: true.
   */
  readonly stream?: boolean | undefined;
  /**
   * The longest that one call may take, in seconds. The server cuts off a call a minute after that, and it is then made again.
   * Default: 15 minutes.
   */
  readonly callTimeoutS?: number | undefined;
  /**
   * How long a finished execution can be looked up, in seconds. Must be longer than the longest tree, since a parent may join a
   * child late. Default: 7 days.
   */
  readonly retentionS?: number | undefined;
  /** Seconds until the server offers an execution again that this worker cannot run. Default: 30. */
  readonly parkS?: number | undefined;
  /** Sent with every request to the server, for example the API key of a hosted one. Default: none. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /**
   * Public keys of the servers that may call this worker, as `publickeyv1_…`. Requests without a signature by one of them are
   * refused. Default: every server may call it.
   */
  readonly identityKeys?: readonly string[] | undefined;
}

export const OPTIONS: readonly (keyof RestateRuntimeOptions)[] = [
  "agents",
  "createContext",
  "ingress",
  "admin",
  "headcount",
  "ledger",
  "blobs",
  "hooks",
  "clock",
  "ids",
  "restart",
  "stream",
  "callTimeoutS",
  "retentionS",
  "parkS",
  "headers",
  "identityKeys",
  "pipelines",
  "meter",
  "limiter",
  "history",
  "compaction",
  "memory",
  "permissions",
  "telemetry",
  "auditLog",
  "validator",
  "logger",
];
