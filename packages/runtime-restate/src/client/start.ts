import type {
  AbortSignalLike,
  Agent,
  ExecutionBudgetOptions,
  HistoryRetention,
  IdSource,
  JsonObject,
  Priority,
  SpawnBudgetOptions,
} from "@ravi/kernel";
import { checkRun, newRoot, versionName } from "@ravi/kernel/loop";
import { refuseOwnLedger } from "../own-ledger.ts";
import type { Launch } from "../root/messages.ts";

/** Options of `run`. All are optional. */
export interface RestateRunOptions {
  /** Default: a new id. If a run of this id exists, `result` rejects with an `InvalidValueError`. */
  readonly runId?: string | undefined;
  /**
   * The version to run, if it is not that of the given agent: an agent of the same name and this version must be registered here.
   * Default: the given agent.
   */
  readonly version?: string | undefined;
  /** The conversation that the run belongs to. Default: a new one. */
  readonly sessionId?: string | undefined;
  /** Limits on the agents of the tree. Default: the agent's own. */
  readonly spawnBudget?: SpawnBudgetOptions | undefined;
  /**
   * Limits on what the tree may spend. If the agent has limits too, the lower one counts in each dimension. Default: the agent's
   * own.
   */
  readonly executionBudget?: ExecutionBudgetOptions | undefined;
  /** Default: `NORMAL`. */
  readonly priority?: Priority | undefined;
  /** How long the root's history is kept. Default: `PERMANENT`. */
  readonly retention?: HistoryRetention | undefined;
  /** The tenant that the run works for, for layers, tools and hooks. Default: null. */
  readonly tenantId?: string | undefined;
  /** The user that the run works for; the agents' memory is separate for each. Default: null. */
  readonly userId?: string | undefined;
  /** Plain JSON that tools and hooks can read from the run's scope. Default: empty. */
  readonly metadata?: JsonObject | undefined;
  /** Cancels the run for good when it aborts. */
  readonly signal?: AbortSignalLike | undefined;
}

const OPTIONS: readonly (keyof RestateRunOptions)[] = [
  "runId",
  "version",
  "sessionId",
  "spawnBudget",
  "executionBudget",
  "priority",
  "retention",
  "tenantId",
  "userId",
  "metadata",
  "signal",
];

/**
 * Describes a new run from the caller's options and the agent's defaults. Whether its limits can be enforced is checked by the
 * worker that has its tree.
 */
export function launchRun(
  agent: Agent,
  input: string,
  options: RestateRunOptions,
  { ids, now }: { readonly ids: IdSource; readonly now: number },
): Launch {
  checkRun(agent, input, options, OPTIONS);
  refuseOwnLedger(agent);
  const root = newRoot(agent, options, ids);
  const { deadlineS } = root.executionBudget;
  return {
    runId: root.runId,
    execId: root.runId,
    agent: versionName(agent),
    supervision: root.toJSON(),
    input,
    tenantId: options.tenantId ?? null,
    userId: options.userId ?? null,
    metadata: options.metadata ?? {},
    deadline: deadlineS === null ? null : now + deadlineS * 1000,
    onPreempt: "park",
  };
}
