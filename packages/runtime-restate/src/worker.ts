import { createEndpointHandler, type WorkflowOptions } from "@restatedev/restate-sdk";
import type { Agent, ContextPorts } from "@ravi/kernel";
import { tellLog } from "@ravi/kernel/loop";
import type { RootClient } from "./client/root-client.ts";
import type { Http2Handler } from "./endpoint.ts";
import { MessageBatcher } from "./execution/message-batcher.ts";
import { Publishers } from "./execution/publisher.ts";
import { executionService } from "./execution/service.ts";
import { watcherService } from "./execution/watcher.ts";
import type { Ingress } from "./ingress.ts";
import { TOPIC } from "./names.ts";
import type { RestateRuntimeOptions } from "./options.ts";
import { EXECUTION_RETRIES } from "./retries.ts";
import { rootObject } from "./root/object.ts";
import { topicObject } from "./topic/object.ts";

const MINUTE = 60_000;

/** What a worker shares with the client in the same process. */
export interface WorkerParts {
  readonly agents: ReadonlyMap<string, Agent>;
  readonly register: (agent: Agent) => void;
  readonly ports: ContextPorts;
  readonly ingress: Ingress;
  readonly roots: RootClient;
  /** Aborted when the runtime closes. */
  readonly closed: AbortSignal;
}

/** The handler for everything that the server calls: the objects of trees and topics, and the workflows of executions. */
export function workerHandler(
  options: RestateRuntimeOptions,
  { agents, register, ports, ingress, roots, closed }: WorkerParts,
): Http2Handler {
  const { createContext, headcount, ledger, blobs, stream = true, identityKeys, restart } = options;
  const { clock, logger } = ports;
  const service = serviceOptions(options);
  return createEndpointHandler({
    services: [
      rootObject({ headcount, ledger }),
      topicObject(),
      watcherService(service),
      executionService({
        agents,
        register,
        createContext,
        ports,
        ingress,
        batcher: new MessageBatcher(ingress, (runId) => roots.unblock(runId)),
        publishers: new Publishers({
          clock,
          send: (key, events) => ingress.tell({ service: TOPIC, key, handler: "tell" }, events, closed),
          closed,
          logger,
        }),
        blobs,
        isWatched: stream,
        restart,
        parkMs: (options.parkS ?? 30) * 1000,
        service,
      }),
    ],
    logger: sdkLogger(options),
    ...(identityKeys !== undefined && { identityKeys: [...identityKeys] }),
  });
}

/**
 * The server cuts off a call a minute after its time is up: it waits for the inactivity timeout, and then for the abort timeout. What
 * is over is kept as long as somebody may ask for it.
 */
function serviceOptions({
  callTimeoutS = 15 * 60,
  retentionS = 7 * 24 * 60 * 60,
}: RestateRuntimeOptions): WorkflowOptions {
  const retention = retentionS * 1000;
  return {
    workflowRetention: retention,
    journalRetention: retention,
    inactivityTimeout: MINUTE,
    abortTimeout: callTimeoutS * 1000,
    onJournalMismatchErrors: "pause",
    retryPolicy: EXECUTION_RETRIES,
  };
}

/** The SDK logs every replay. Only its warnings and errors are passed on, to the runtime's logger. */
function sdkLogger({ logger }: RestateRuntimeOptions): (meta: { level: string }, ...said: unknown[]) => void {
  return ({ level }, ...said) => {
    if (level === "error" || level === "warn") tellLog(logger, "warn", said.map(String).join(" "));
  };
}
