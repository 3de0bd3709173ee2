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
import type { LedgerFactory } from "./root/books.ts";
import type { HeadcountFactory } from "./root/seats.ts";

export interface RestateRuntimeOptions extends Omit<ContextPorts, "clock" | "ids" | "hooks"> {
  /** Those that this worker carries, each in the versions that runs may be pinned to. `run` adds the one it is given. */
  readonly agents?: readonly Agent[] | undefined;
  /** `createRunContext` of `@ravi/runtime`: the rules, which are the same on every engine. */
  readonly createContext: CreateRunContext;
  /** Where the server takes requests. */
  readonly ingress: string;
  /** Where the server is administrated: for `list`, `delete`, `resume` and `register`. */
  readonly admin: string;
  /** Makes the headcount of a tree, or restores it: `(root, snapshot) => snapshot ? SpawnTracker.restore(snapshot) : …`. */
  readonly headcount?: HeadcountFactory | undefined;
  /** Makes the ledger of a tree's root. What was spent is told to it by `charge`, for every message anew. */
  readonly ledger?: LedgerFactory | undefined;
  /** Shared by all workers: outcomes above 256 KB go there. Without it they go to the server, up to 8 MiB. */
  readonly blobs?: BlobStore | undefined;
  readonly hooks?: Hooks | undefined;
  /** Whether a root whose own code threw is started again, from its record. Crashes are counted by the tree, over all workers. */
  readonly restart?: RestartPolicy | undefined;
  readonly clock?: Clock | undefined;
  readonly ids?: IdSource | undefined;
  /** Whether model calls are streamed to the run's topic. Each parcel is a message; default true. */
  readonly stream?: boolean | undefined;
  /** The longest that one call may take. A call that takes longer is cut off by the server and made again. Default 15 minutes. */
  readonly callTimeoutS?: number | undefined;
  /** How long a finished execution can be looked up. Longer than the longest tree: a parent may join a child late. Default 7 days. */
  readonly retentionS?: number | undefined;
  /** How soon an execution that this worker cannot carry is offered again by itself. Default 30 seconds. */
  readonly parkS?: number | undefined;
  /** Sent with every request to the server, as for an API key of a hosted one. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Public keys of the servers that this worker serves, as `publickeyv1_…`; what none of them has signed is refused. Without any, it serves all. */
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
