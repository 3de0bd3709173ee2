import {
  type AgentAccount,
  type AgentId,
  type AnyRaviError,
  errorToJSON,
  ExecId,
  InvalidValueError,
  isRaviError,
  type JsonObject,
  type JsonValue,
  Priority,
  type RunId,
  type RunResult,
  type StoppedBy,
  type StopReason,
  type Usage,
} from "@ravi/kernel";
import { type Limits, limitsOf } from "../limits.ts";
import type { CallLog } from "../tree/call-log.ts";
import { type RunTree, runTree } from "../tree/run-tree.ts";

/** How a run ended, and what it took. There is one whatever the end; `status` says which, and what else is known. */
export type SdkResult<T = unknown> = CompletedResult<T> | UnfinishedResult<T>;

/** What every end tells. */
export interface ResultBase<T = unknown> {
  readonly runId: RunId;
  /** The answer; of a run that was cut off, what it had until then. */
  readonly output: string;
  readonly stopReason?: StopReason | undefined;
  /** Which limit cut it off, where `stopReason` is `budget`: its dimension, what was used, the limit, whose it is, and what to do. */
  readonly stoppedBy?: StoppedBy | undefined;
  /** Limits of the whole tree that a provider's excess has passed. What was paid for was delivered all the same. */
  readonly exceeded?: readonly StoppedBy[] | undefined;
  readonly usage: Usage;
  /** Dollars; null when a call had no known price. */
  readonly cost: number | null;
  /** What it was held to, defaults included. */
  readonly limits: Limits;
  /** Who worked for whom and spent what, down to each call. */
  readonly tree: RunTree;
  /** Keys of calls that were in flight at a crash and made again: each may have been paid for twice. */
  readonly inDoubt: readonly string[];
  /** This result, if the run was completed. Otherwise throws its error, or one that says how it ended. */
  unwrap(): CompletedResult<T>;
  toJSON(): JsonObject;
}

export interface CompletedResult<T = unknown> extends ResultBase<T> {
  readonly status: "completed";
  /** The answer in the shape of the agent's `output`. */
  readonly structured: T;
  readonly error?: undefined;
}

/** Of a run that was cut off, has failed, was cancelled or is suspended. */
export interface UnfinishedResult<T = unknown> extends ResultBase<T> {
  readonly status: Exclude<RunResult["status"], "completed">;
  /** What it had until then, where that had the shape of the agent's `output`. */
  readonly structured?: T | undefined;
  /** Why it failed, was cancelled or is suspended. */
  readonly error?: AnyRaviError | undefined;
}

export interface ResultContext {
  readonly agentId: AgentId;
  readonly asked: Limits | undefined;
  readonly log: CallLog;
}

export function sdkResult<T>(result: RunResult<T>, { agentId, asked, log }: ResultContext): SdkResult<T> {
  const { runId, status, output, structured, stopReason, error, usage, cost, inDoubt = [] } = result;
  const { stoppedBy, exceeded } = result;
  const [root = soleAccount(result, agentId), ...others] = result.agents ?? [];
  const limits = limitsOf(result.limits, asked);
  const tree = runTree([root, ...others], log);
  // Of an agent without `output` there is none, and its `T` is unknown.
  const shaped = structured !== undefined && { structured };
  const ended =
    status === "completed"
      ? { status, ...(shaped as { readonly structured: T }) }
      : { status, ...shaped, ...(isRaviError(error) && { error }) };
  const made: SdkResult<T> = {
    ...ended,
    runId,
    output,
    ...(stopReason !== undefined && { stopReason }),
    ...(stoppedBy !== undefined && { stoppedBy }),
    ...(exceeded !== undefined && { exceeded }),
    usage,
    cost,
    limits,
    tree,
    inDoubt,
    unwrap: () => unwrap(made),
    toJSON: () => toJSON(made),
  };
  return Object.freeze(made);
}

function unwrap<T>(result: SdkResult<T>): CompletedResult<T> {
  if (result.status === "completed") return result;
  const { status, stopReason, stoppedBy, error, runId } = result;
  if (error !== undefined && (status === "failed" || status === "cancelled")) throw error;
  const limit = stoppedBy === undefined ? "" : `: ${stoppedBy.dimension} of ${stoppedBy.scope}`;
  const why = stopReason === undefined ? (error?.message ?? "") : `stopReason ${stopReason}${limit}`;
  const hint = stoppedBy?.hint === undefined ? "" : `${stoppedBy.hint}; `;
  const advice =
    status === "suspended"
      ? `resume(${JSON.stringify(runId)}, …) goes on with it`
      : `${hint}read result.output for what there is`;
  throw new InvalidValueError({
    field: "result.status",
    value: status,
    expected: `"completed"${why === "" ? "" : ` (${why})`}; ${advice}`,
    cause: error,
  });
}

function toJSON({ error, structured, tree, limits, usage, ...rest }: SdkResult): JsonObject {
  const { runId, status, output, stopReason, stoppedBy, exceeded, cost, inDoubt } = rest;
  return {
    runId,
    status,
    output,
    ...(structured !== undefined && { structured: structured as JsonValue }),
    ...(stopReason !== undefined && { stopReason }),
    ...(stoppedBy !== undefined && { stoppedBy }),
    ...(exceeded !== undefined && { exceeded: [...exceeded] }),
    ...(error !== undefined && { error: errorToJSON(error) }),
    usage,
    cost,
    limits: { budget: { ...limits.budget }, tree: { ...limits.tree } },
    // Through JSON: what a tree holds is plain, and read-only lists are no lists of `JsonValue`.
    tree: JSON.parse(JSON.stringify(tree)) as JsonValue,
    inDoubt: [...inDoubt],
  };
}

/** A result that does not tell who worked: all of it is the root's. */
function soleAccount({ runId, status, usage, cost }: RunResult, agentId: AgentId): AgentAccount {
  return {
    execId: ExecId(runId),
    agentId,
    parent: null,
    priority: Priority.NORMAL,
    status,
    usage,
    costUsd: cost,
    modelCalls: 0,
    toolCalls: 0,
    retries: 0,
    wasteUsd: 0,
  };
}
