import {
  type AgentAccount,
  ExecId,
  type RecordedCall,
  type RunId,
  type RunReport,
  type RunStatus,
  type RunSummary,
} from "@ravi/kernel";
import type { Ingress } from "../ingress.ts";
import { ROOT } from "../names.ts";
import type { OpenCall, WholeView } from "../root/messages.ts";
import { unknownRun } from "../root/unknown-run.ts";
import { poll } from "./poll.ts";
import { type RecordEntry, recordOf } from "./record.ts";
import { accountedOf, resultOf } from "./result.ts";

const LIVING: readonly AgentAccount["status"][] = ["pending", "running", "suspended"];

/** Everything that is known of a run. Throws an `InvalidValueError` if the server does not know it. */
export async function inspectRun(ingress: Ingress, runId: RunId, signal: AbortSignal): Promise<RunReport> {
  const target = { service: ROOT, key: runId, handler: "report" };
  const view = await poll<WholeView | null>(ingress, target, null, signal);
  if (view === null) throw unknownRun(runId);
  const entries = await recordOf(ingress, runId, signal);
  const summary = view.summary as WholeView["summary"] & RunSummary;
  const result = view.status === "over" ? resultOf(runId, view) : undefined;
  const { usage, cost, limits = NO_LIMITS, inDoubt = [], agents = [] } = result ?? accountedOf(view);
  return {
    ...summary,
    input: inputIn(entries, runId),
    usage,
    cost,
    limits,
    inDoubt,
    agents: agents.map((each) => ofRun(each, summary.status)),
    calls: callsIn(entries, view.openCalls),
    ...(result !== undefined && { result }),
  };
}

const NO_LIMITS = { spawnBudget: null, executionBudget: null } as const;

/** One that has not ended has the status of the run, as in one process. */
function ofRun(account: AgentAccount, status: RunStatus): AgentAccount {
  return LIVING.includes(account.status) ? { ...account, status } : account;
}

/** The tree does not keep the input. It is on record as soon as the root has begun. */
function inputIn(entries: readonly RecordEntry[], runId: RunId): string {
  const start = entries.find(({ execId, event }) => execId === ExecId(runId) && event.type === "started");
  return start?.event.type === "started" ? start.event.input : "";
}

/** Those that have ended, from the record, and those that have not, from the tree, in the order in which they began. */
function callsIn(entries: readonly RecordEntry[], open: readonly OpenCall[]): RecordedCall[] {
  const ended = entries.flatMap(({ execId, event }): RecordedCall[] => {
    if (event.type !== "call") return [];
    const { type: _, ...call } = event;
    return [{ execId, ...call }];
  });
  const known = new Set(ended.map(({ execId, key }) => `${execId}\n${key}`));
  const others = open
    .filter(({ execId, key }) => !known.has(`${execId}\n${key}`))
    .map(({ execId, key, name, startedAt }): RecordedCall => {
      const kind = key.startsWith("tool:") ? "tool" : "llm";
      return { execId: execId as ExecId, key, kind, name, status: "open", startedAt };
    });
  return [...ended, ...others].toSorted((one, other) => one.startedAt - other.startedAt);
}
