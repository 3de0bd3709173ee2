import type { AbortSignalLike } from "../core/types.ts";
import type { JsonObject } from "../core/json.ts";
import type { Attachment } from "../model/messages.ts";
import type { ExecutionBudgetOptions } from "../policy/execution-budget.ts";
import type { HistoryRetention, Priority } from "../policy/scales.ts";
import type { SpawnBudgetOptions } from "../policy/spawn-budget.ts";

/** The options of `run` that all runtimes share. All are optional. */
export interface RunStartOptions {
  /** Default: a new id. An id in use is an `InvalidValueError`, which `run` throws or `result` rejects with. */
  readonly runId?: string | undefined;
  /**
   * The version to run, if it is not that of the given agent: an agent of the same name and this version must be registered.
   * Default: the given agent.
   */
  readonly version?: string | undefined;
  /** Pictures and files that come with the input: `[{ type: "image", url }]`, with `data:` or `https:` URLs. Default: none. */
  readonly attachments?: readonly Attachment[] | undefined;
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

export const RUN_START_OPTIONS: readonly (keyof RunStartOptions)[] = [
  "runId",
  "version",
  "attachments",
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
