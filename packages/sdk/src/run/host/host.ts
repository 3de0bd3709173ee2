import type {
  Agent,
  ChatContext,
  HistoryProvider,
  Hooks,
  Journal,
  Layer,
  Middleware,
  Pipelines,
  RestartPolicy,
} from "@ravi/kernel";
import { retry } from "@ravi/middleware";
import { Runtime } from "@ravi/runtime";
import { RetryPolicy, SpawnTracker } from "@ravi/supervision";
import { blueprintOf, teamOf } from "../../agents/made/blueprint.ts";
import { around, checkLayers, hasRetry, pipelinesOf } from "../../agents/layers.ts";
import { hasModule } from "../../node/node-module.ts";
import { ledgerFor } from "./ledger.ts";
import { meteringFor } from "./meters.ts";
import { tellMisspelt } from "./misspelt-prices.ts";
import { tellUnguarded } from "./unguarded-tools.ts";
import type { HostOptions } from "../options.ts";

/** What `launch` has prepared for the runtime. */
export interface Host {
  readonly agents: readonly Agent[];
  readonly journal: Journal | undefined;
  readonly history: HistoryProvider | undefined;
  readonly hooks: Hooks;
}

/** Builds the runtime of a run from the small packages. This is the one place where they are wired together. */
export function buildRuntime(options: HostOptions, host: Host): Runtime {
  const { clock, ids, logger } = options;
  const pipelines = pipelinesFor(options, host.agents);
  tellMisspelt(options.prices, host.agents, logger);
  tellUnguarded(pipelines, host.agents, logger);
  return new Runtime({
    agents: host.agents,
    ambientScope: hasModule("node:async_hooks"),
    journal: host.journal,
    headcount: (root) => new SpawnTracker(root.spawnBudget, { rootId: root.rootId, clock }),
    ledger: (root, _snapshot, facts) => ledgerFor(root, { facts, clock, logger }),
    meter: meteringFor(options.prices).meter,
    limiter: options.limiter,
    hooks: host.hooks,
    pipelines,
    history: host.history,
    compaction: options.compaction,
    permissions: options.permissions,
    telemetry: options.telemetry,
    auditLog: options.auditLog,
    restart: restartFor(options, host.journal),
    validator: options.validator,
    clock,
    ids,
    logger,
  });
}

/** Without a journal there is nothing to restart an agent from. */
function restartFor({ restart, ids }: HostOptions, journal: Journal | undefined): RestartPolicy | undefined {
  if (restart === false || journal === undefined) return undefined;
  return restart ?? new RetryPolicy({ random: ids && (() => ids.random()) });
}

/** The user's layers, and a retry around all model calls unless there is one already. */
function pipelinesFor({ middleware, retry: how, ids }: HostOptions, agents: readonly Agent[]): Pipelines {
  const own = ownRetries(agents);
  // Most runs. To make and check the layer for each of them was a tenth of the instructions of one that makes one model call.
  if (middleware === undefined && how === undefined && ids === undefined && own === undefined)
    return ONLY_RETRY;
  const { chat, ...others } = checkLayers("middleware", middleware ?? {});
  const shared = pipelinesOf("middleware", others);
  if (how === false || hasRetry(chat)) return { ...shared, ...pipelinesOf("middleware", { chat }) };
  const layer = retry({ random: ids && (() => ids.random()), ...how });
  return { ...shared, chat: around(own === undefined ? layer : retryUnlessOwn(layer, own), chat) };
}

const ONLY_RETRY: Pipelines = { chat: around(retry()) };

/** The ids of the agents that have a retry of their own. Undefined if none has. */
function ownRetries(agents: readonly Agent[]): ReadonlySet<string> | undefined {
  const own = agents.flatMap(teamOf).filter(retriesItself);
  return own.length === 0 ? undefined : new Set(own.map(({ id }) => id));
}

/** Only one layer may retry a call, or attempts would multiply. Calls of agents that have a retry of their own pass through. */
function retryUnlessOwn(layer: Middleware<ChatContext>, own: ReadonlySet<string>): Layer<ChatContext> {
  return {
    ...layer,
    process: (context, next) =>
      own.has(context.agentName) || layer.process === undefined ? next() : layer.process(context, next),
  };
}

function retriesItself(agent: Agent): boolean {
  return blueprintOf(agent)?.retries ?? hasRetry(agent.pipelines?.chat);
}
