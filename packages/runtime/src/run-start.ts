import {
  type AbortSignalLike,
  type Agent,
  AgentNotFoundError,
  type AgentResult,
  deepFreeze,
  type ExecutionBudgetOptions,
  type HistoryRetention,
  type JsonObject,
  type Priority,
  type RunEvent,
  type RunScope,
  type SpawnBudgetOptions,
  Supervision,
} from "@ravi/kernel";
import { checkRun, newRoot, ownMetadata, refuseUnkept, versionName } from "@ravi/kernel/loop";
import { withAgentLedger } from "./tree/ledgers.ts";
import { textAt } from "./engine/body.ts";
import { type ResultRecord, resultToJSON } from "./engine/hire-record.ts";
import type { Ports } from "./ports.ts";

export interface RunOptions {
  /** Default: a new id. */
  readonly runId?: string | undefined;
  /** The version of the agent to run, which may be another registered one of the same name. Default: that of the given agent. */
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
  /**
   * Called synchronously with each event of the tree, before the run goes on. That is the fastest way to follow a stream. If it throws,
   * that is only logged. To read events at your own pace, use `events()` of the handle.
   */
  readonly onEvent?: ((event: RunEvent) => void) | undefined;
}

/** What a run starts with. It is recorded in the first entry of its journal. */
export interface Start {
  readonly agent: Agent;
  readonly input: string;
  readonly root: Supervision;
  readonly deadline: number | null;
  readonly tenantId: string | null;
  readonly userId: string | null;
  readonly metadata: JsonObject;
  /** The result, if a layer around the agent has answered instead of it. */
  readonly refused?: AgentResult | undefined;
}

/** A new run, by what its caller and its agent say. */
export function newStart(ports: Ports, agent: Agent, input: string, options: RunOptions): Start {
  const { ids, clock, ledger, headcount } = ports;
  checkRun(agent, input, options, OPTIONS);
  const root = newRoot(agent, options, ids);
  const isMetered = ledger !== undefined || withAgentLedger(agent, undefined) !== undefined;
  const spawns = options.spawnBudget ?? agent.defaults?.spawnBudget;
  refuseUnkept({ isMetered, isCounted: headcount !== undefined }, root.executionBudget, spawns);
  const { deadlineS } = root.executionBudget;
  const deadline = deadlineS === null ? null : clock.now() + deadlineS * 1000;
  const { tenantId = null, userId = null, metadata } = options;
  return { agent, input, root, deadline, tenantId, userId, metadata: ownMetadata(metadata) };
}

const OPTIONS: readonly (keyof RunOptions)[] = [
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
  "onEvent",
];

/** A run from its first journal entry. It is pinned to the version of its agent. */
export function readStart(agents: ReadonlyMap<string, Agent>, body: JsonObject): Start {
  const name = textAt(body, "agent");
  const agent = agents.get(name);
  if (agent === undefined) throw new AgentNotFoundError({ agent: name, known: [...agents.keys()] });
  const root = Supervision.fromJSON(body["supervision"]);
  const deadline = body["deadline"];
  return {
    agent,
    input: textAt(body, "input"),
    root,
    deadline: typeof deadline === "number" ? deadline : null,
    tenantId: textAt(body, "tenantId") || null,
    userId: textAt(body, "userId") || null,
    metadata: frozen(body["metadata"] as JsonObject | undefined),
    refused: body["refused"] as ResultRecord | undefined,
  };
}

const NO_METADATA = ownMetadata(undefined);

function frozen(metadata: JsonObject | undefined): JsonObject {
  return metadata === undefined ? NO_METADATA : deepFreeze(metadata);
}

/** Whether nothing in its record is a caller's or a layer's own: that may be no plain data, which shows when it is written as text. */
export function isPlainStart({ metadata, refused }: Start): boolean {
  return metadata === NO_METADATA && refused === undefined;
}

/** What tools and hooks may know of the run. */
export function scopeOf({ root, tenantId, userId, metadata }: Start): RunScope {
  const { sessionId, runId } = root;
  return Object.freeze({ userId, tenantId, sessionId, runId, metadata });
}

/** What the first journal entry says. */
export function startRecord(start: Start): JsonObject {
  const { agent, input, root, deadline, tenantId, userId, metadata, refused } = start;
  const supervision = root.toJSON();
  const record = { agent: versionName(agent), input, supervision, deadline, tenantId, userId, metadata };
  // A crash before the result is on record must not let in what a layer has refused.
  return refused === undefined ? record : { ...record, refused: resultToJSON(refused) };
}
