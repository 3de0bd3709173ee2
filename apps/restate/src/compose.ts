import type { Agent, JsonObject, Limiter, Meter, Supervision } from "@ravi/kernel";
import { ExecutionTracker } from "@ravi/resources";
import { createRunContext } from "@ravi/runtime";
import { type RestateRuntime, restateRuntime } from "@ravi/runtime-restate";
import { SpawnTracker } from "@ravi/supervision";

export interface ComposeOptions {
  readonly ingress: string;
  readonly admin: string;
  readonly agents?: readonly Agent[] | undefined;
  readonly meter?: Meter | undefined;
  readonly limiter?: Limiter | undefined;
}

/** Wires a Restate runtime with Ravi's rules. The root's object on the server counts slots and money for the whole tree. */
export function compose(options: ComposeOptions): RestateRuntime {
  return restateRuntime({ ...options, createContext: createRunContext, headcount, ledger, stream: false });
}

function headcount({ spawnBudget, agentId }: Supervision, snapshot?: JsonObject): SpawnTracker {
  return snapshot === undefined
    ? new SpawnTracker(spawnBudget, { rootId: agentId })
    : SpawnTracker.restore(snapshot);
}

function ledger({ executionBudget, agentId }: Supervision): ExecutionTracker {
  return new ExecutionTracker(executionBudget, { scope: agentId, reserve: false });
}
