import {
  type AgentAccount,
  errorFromJSON,
  errorToJSON,
  executionBudget,
  type JsonObject,
  type JsonValue,
  type RaviError,
  type RunId,
  type RunLimits,
  type RunResult,
  type SchemaLike,
  type SerializedError,
  spawnBudget,
  type StoppedBy,
  type Usage,
} from "@ravi/kernel";
import { readAgain } from "@ravi/kernel/loop";
import { textAt } from "../engine/body.ts";

/** Whether the record of the result consists of plain data that nobody else holds, so that the journal need not copy it. */
export function isStatusGiven({ structured, problem, stoppedBy, exceeded, error }: RunResult): boolean {
  const isShort = structured === undefined && problem === undefined && error === undefined;
  return isShort && stoppedBy === undefined && exceeded === undefined;
}

/**
 * What is recorded of a result: enough to return it again to a caller that resumes a finished run. One that is suspended computes the rest
 * again; with the accounts of all agents, each restart of a service would add to the journals of all runs that wait.
 */
export function statusRecord(result: RunResult): JsonObject {
  const { status, output, structured, stopReason, error, usage, cost, inDoubt, limits, agents } = result;
  const { problem, stoppedBy, exceeded } = result;
  if (status === "suspended") return { status, ...(error !== undefined && { error: errorToJSON(error) }) };
  // The result belongs to the caller, who may change it, so everything is copied.
  const record = {
    status,
    output,
    usage: { ...usage },
    cost,
    inDoubt: inDoubt && copyOf(inDoubt),
    limits: limits && limitsRecord(limits),
    agents: agents?.map(accountRecord),
    stopReason,
  };
  if (isStatusGiven(result)) return record;
  return {
    ...record,
    ...(structured !== undefined && { structured: structured as JsonValue }),
    ...(problem !== undefined && { problem }),
    ...(stoppedBy !== undefined && { stoppedBy }),
    ...(exceeded !== undefined && { exceeded: [...exceeded] }),
    ...(error !== undefined && { error: errorToJSON(error) }),
  };
}

/** It is usually empty, and copying a frozen array takes 4 µs. */
function copyOf(keys: readonly string[]): string[] {
  return keys.length === 0 ? [] : [...keys];
}

function accountRecord(account: AgentAccount): JsonObject {
  const { stoppedBy } = account;
  const copy = { ...account, usage: { ...account.usage } };
  return stoppedBy === undefined ? copy : { ...copy, stoppedBy: { ...stoppedBy } };
}

/** As plain data: values with a `toJSON` method make serializing the whole record three times as slow. */
function limitsRecord(limits: RunLimits): JsonObject {
  return {
    spawnBudget: limits.spawnBudget?.toJSON() ?? null,
    executionBudget: limits.executionBudget?.toJSON() ?? null,
  };
}

function limitsIn({ spawnBudget: spawns = null, executionBudget: spends = null }: JsonObject): RunLimits {
  return {
    spawnBudget: spawns === null ? null : spawnBudget.fromJSON(spawns),
    executionBudget: spends === null ? null : executionBudget.fromJSON(spends),
  };
}

/** The recorded result; undefined if the run is not over. `output` is the schema of the agent, if it is known here. */
export function recordedResult(
  runId: RunId,
  body: JsonObject,
  output: SchemaLike | undefined,
): RunResult | undefined {
  const status = body["status"] as RunResult["status"] | "running";
  if (status === "running" || status === "suspended") return undefined;
  const error = body["error"];
  const problem = body["problem"] as string | undefined;
  const stoppedBy = body["stoppedBy"] as StoppedBy | undefined;
  const exceeded = body["exceeded"] as readonly StoppedBy[] | undefined;
  const result: RunResult = {
    runId,
    status,
    output: textAt(body, "output"),
    structured: body["structured"],
    stopReason: body["stopReason"] as RunResult["stopReason"],
    ...(problem !== undefined && { problem }),
    ...(stoppedBy !== undefined && { stoppedBy }),
    ...(exceeded !== undefined && { exceeded }),
    error: error === undefined ? undefined : (errorFromJSON(error as SerializedError) as RaviError),
    usage: body["usage"] as Usage,
    cost: body["cost"] as number | null,
    inDoubt: body["inDoubt"] as readonly string[],
    limits: body["limits"] === undefined ? undefined : limitsIn(body["limits"] as JsonObject),
    agents: body["agents"] as readonly AgentAccount[] | undefined,
  };
  return readAgain(result, output);
}
