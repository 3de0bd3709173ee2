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
import type { Calls } from "../tree/call-log.ts";
import { type RunTree, runTree } from "../tree/run-tree.ts";
import { withSdkNames } from "../tree/print/stopped-by.ts";

/** How a run ended and what it used. Every end gives a result; `status` says which end it was. */
export type SdkResult<T = unknown> = CompletedResult<T> | UnfinishedResult<T>;

/** The fields that every result has. */
export interface ResultBase<T = unknown> {
  readonly runId: RunId;
  /** The answer. If the run was stopped early, what there was by then. */
  readonly output: string;
  /** Why the agent stopped. */
  readonly stopReason?: StopReason | undefined;
  /** What was wrong with the last answer, if `stopReason` is `invalid`: each field, and what was expected there. */
  readonly problem?: string | undefined;
  /**
   * The limit that stopped the run, if `stopReason` is `budget`: its dimension, what was used, the limit, whose budget it is,
   * and what to do.
   */
  readonly stoppedBy?: StoppedBy | undefined;
  /** Limits of the whole tree that were exceeded because a provider used more than was reserved. */
  readonly exceeded?: readonly StoppedBy[] | undefined;
  /** Of all agents together. */
  readonly usage: Usage;
  /** US dollars, of all agents together; null if the price of a call is not known. */
  readonly cost: number | null;
  /** The limits that applied, including defaults. */
  readonly limits: Limits;
  /** Which agent hired which, and what each spent, down to single calls. */
  readonly tree: RunTree;
  /**
   * Keys of calls of which it is not known what came of them, because they were in flight at a crash, or nobody waited for their end. They
   * may have been made and paid for, and those that were made again, twice. A tool that nobody has decided on is among them when the run has ended.
   */
  readonly inDoubt: readonly string[];
  /** Returns this result if the run is completed. Otherwise throws its error, or an `InvalidValueError` that says how it ended. */
  unwrap(): CompletedResult<T>;
  /** The result as plain JSON. */
  toJSON(): JsonObject;
}

/** The result of a run that was completed. */
export interface CompletedResult<T = unknown> extends ResultBase<T> {
  readonly status: "completed";
  /** The answer in the shape of the agent's `output` schema. Undefined if the agent has none. */
  readonly structured: T;
  readonly error?: undefined;
}

/** The result of a run that was stopped early, failed, was cancelled or is suspended. */
export type UnfinishedResult<T = unknown> = PartialResult<T> | StoppedResult<T>;

/** The result of a run that was stopped early: `stopReason` says why. */
export interface PartialResult<T = unknown> extends ResultBase<T> {
  readonly status: "partial";
  /** What there was by then, if it had the shape of the agent's `output` schema. */
  readonly structured?: T | undefined;
  readonly error?: AnyRaviError | undefined;
}

/** The result of a run that failed, was cancelled or is suspended: `error` says why. `resume` continues a suspended one. */
export interface StoppedResult<T = unknown> extends ResultBase<T> {
  readonly status: Exclude<RunResult["status"], "completed" | "partial">;
  /** What there was by then, if it had the shape of the agent's `output` schema. */
  readonly structured?: T | undefined;
  readonly error: AnyRaviError;
}

/** What a result needs beyond what the runtime gives. */
export interface ResultContext {
  readonly agentId: AgentId;
  readonly asked: Limits | undefined;
  readonly log: Calls;
}

export function sdkResult<T>(result: RunResult<T>, { agentId, asked, log }: ResultContext): SdkResult<T> {
  const { runId, status, output, structured, stopReason, error, usage, cost, inDoubt = [] } = result;
  const { problem, stoppedBy, exceeded } = result;
  const [root = soleAccount(result, agentId), ...others] = result.agents ?? [];
  const accounts = [root, ...others] as const;
  // Field by field: with spreads of what may be missing this was a tenth of the instructions of a run that makes one model call.
  const made: Draft<T> = { status };
  // An agent without `output` has no structured answer; its `T` is then `unknown`, so undefined is a valid value.
  if (structured !== undefined) made.structured = structured;
  if (status !== "completed" && isRaviError(error)) made.error = error;
  made.runId = runId;
  made.output = output;
  if (stopReason !== undefined) made.stopReason = stopReason;
  if (problem !== undefined) made.problem = problem;
  if (stoppedBy !== undefined) made.stoppedBy = withSdkNames(stoppedBy, accounts);
  if (exceeded !== undefined) made.exceeded = exceeded;
  made.usage = usage;
  made.cost = cost;
  made.limits = limitsOf(result.limits, asked);
  made.tree = runTree(accounts, log);
  made.inDoubt = inDoubt;
  const whole = made as SdkResult<T>;
  // Functions have their names before they are put into properties: see docs/decisions/0012.
  const unwrapped = (): CompletedResult<T> => unwrap(whole);
  const asJson = (): ReturnType<typeof toJSON> => toJSON(whole);
  made.unwrap = unwrapped;
  made.toJSON = asJson;
  return Object.freeze(whole);
}

/** A result that is being made. */
type Draft<T> = { -readonly [K in keyof SdkResult<T>]?: SdkResult<T>[K] };

function unwrap<T>(result: SdkResult<T>): CompletedResult<T> {
  if (result.status === "completed") return result;
  const { status, stopReason, problem, stoppedBy, error, runId } = result;
  if (error !== undefined && (status === "failed" || status === "cancelled")) throw error;
  const limit = stoppedBy === undefined ? "" : `: ${stoppedBy.dimension} of ${stoppedBy.scope}`;
  const why = stopReason === undefined ? (error?.message ?? "") : `stopReason ${stopReason}${limit}`;
  const misfit =
    problem !== undefined
      ? `the last answer did not fit: ${problem}`
      : stopReason === "invalid"
        ? "each progress event outputMisfit says what did not fit"
        : undefined;
  const hint = stoppedBy?.hint ?? misfit;
  const advice =
    status === "suspended"
      ? `call resume(${JSON.stringify(runId)}, …) to continue it`
      : `${hint === undefined ? "" : `${hint}; `}result.output has what was produced so far`;
  throw new InvalidValueError({
    field: "result.status",
    value: status,
    expected: `"completed"${why === "" ? "" : ` (${why})`}; ${advice}`,
    cause: error,
  });
}

function toJSON({ error, structured, tree, limits, usage, ...rest }: SdkResult): JsonObject {
  const { runId, status, output, stopReason, problem, stoppedBy, exceeded, cost, inDoubt } = rest;
  return {
    runId,
    status,
    output,
    ...(structured !== undefined && { structured: structured as JsonValue }),
    ...(stopReason !== undefined && { stopReason }),
    ...(problem !== undefined && { problem }),
    ...(stoppedBy !== undefined && { stoppedBy }),
    ...(exceeded !== undefined && { exceeded: [...exceeded] }),
    ...(error !== undefined && { error: errorToJSON(error) }),
    usage,
    cost,
    limits: { budget: { ...limits.budget }, tree: { ...limits.tree } },
    // Through JSON, because a read-only list is not assignable to `JsonValue`. The tree holds plain data only.
    tree: JSON.parse(JSON.stringify(tree)) as JsonValue,
    inDoubt: [...inDoubt],
  };
}

/** For a result without accounts of its agents: everything is attributed to the root. */
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
