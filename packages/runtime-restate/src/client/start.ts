import {
  type AbortSignalLike,
  type Agent,
  agentName,
  type ExecutionBudgetOptions,
  executionBudget,
  type HistoryRetention,
  type IdSource,
  InvalidValueError,
  type JsonObject,
  type Priority,
  type SpawnBudgetOptions,
  Supervision,
  checkFields,
} from "@ravi/kernel";
import type { Launch } from "../root/messages.ts";

export interface RestateRunOptions {
  readonly runId?: string | undefined;
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

export function nameOf(agent: Agent): string {
  return `${agentName(agent.id)}@${agent.version ?? "1"}`;
}

/** A new run, by what its caller and its agent say. */
export function launchRun(
  agent: Agent,
  input: string,
  options: RestateRunOptions,
  { ids, now }: { readonly ids: IdSource; readonly now: number },
): Launch {
  checkFields("run options", options, OPTIONS);
  if (typeof input !== "string") {
    throw new InvalidValueError({
      field: "input",
      value: input,
      expected: "a text; write an object as JSON",
    });
  }
  const root = Supervision.root(agent.id, {
    ids,
    runId: options.runId,
    sessionId: options.sessionId,
    spawnBudget: options.spawnBudget ?? agent.defaults?.spawnBudget,
    executionBudget: tighter(agent.defaults?.executionBudget, options.executionBudget),
    retention: options.retention,
    priority: options.priority,
  });
  const { deadlineS } = root.executionBudget;
  return {
    runId: root.runId,
    execId: root.runId,
    agent: nameOf(agent),
    supervision: root.toJSON(),
    input,
    tenantId: options.tenantId ?? null,
    userId: options.userId ?? null,
    metadata: options.metadata ?? {},
    deadline: deadlineS === null ? null : now + deadlineS * 1000,
    onPreempt: "park",
  };
}

/** In each dimension the tighter of what the agent and what its caller say. A ledger of the user's own lives in one process only. */
function tighter(
  own: NonNullable<Agent["defaults"]>["executionBudget"],
  given: ExecutionBudgetOptions | undefined,
): ExecutionBudgetOptions | undefined {
  if (own === undefined) return given;
  if ("reserve" in own) {
    throw new InvalidValueError({
      field: "agent.defaults.executionBudget",
      value: "a ledger",
      expected: "limits: a ledger of one process cannot count what others spend",
    });
  }
  if (given === undefined) return own;
  const [a, b] = [executionBudget(own), executionBudget(given)];
  const least = (x: number | null, y: number | null): number | null =>
    x === null || y === null ? (x ?? y) : Math.min(x, y);
  return {
    maxTokens: least(a.maxTokens, b.maxTokens),
    maxCostUsd: least(a.maxCostUsd, b.maxCostUsd),
    maxTurns: least(a.maxTurns, b.maxTurns),
    maxToolCalls: least(a.maxToolCalls, b.maxToolCalls),
    deadlineS: least(a.deadlineS, b.deadlineS),
  };
}
