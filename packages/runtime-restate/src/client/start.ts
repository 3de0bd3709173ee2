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

export interface RestateRunOptions {
  readonly runId?: string | undefined;
  /** The version of the agent to run: the one given, or one of its name that is registered here. */
  readonly version?: string | undefined;
  readonly sessionId?: string | undefined;
  readonly spawnBudget?: SpawnBudgetOptions | undefined;
  readonly executionBudget?: ExecutionBudgetOptions | undefined;
  readonly priority?: Priority | undefined;
  readonly retention?: HistoryRetention | undefined;
  readonly tenantId?: string | undefined;
  readonly userId?: string | undefined;
  readonly metadata?: JsonObject | undefined;
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

/** A new run, by what its caller and its agent say. Whether its limits are kept is known to the worker that has its tree. */
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
