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

/**
 * Those that have ended, from the record, and those that have not, from the tree, in the order in which they began. Of a call that was made
 * again, the newest attempt.
 */
function callsIn(entries: readonly RecordEntry[], open: readonly OpenCall[]): RecordedCall[] {
  const calls = new Map<string, RecordedCall>();
  for (const { execId, event } of entries) {
    if (event.type !== "call") continue;
    const { type: _, ...call } = event;
    calls.set(`${execId}\n${call.key}`, { execId, ...call });
  }
  for (const { execId, key, name, startedAt } of open) {
    const known = calls.get(`${execId}\n${key}`);
    // The tree is told later of an end than the record.
    if (known !== undefined && known.startedAt >= startedAt) continue;
    const kind = key.startsWith("tool:") ? "tool" : "llm";
    calls.set(`${execId}\n${key}`, { execId: execId as ExecId, key, kind, name, status: "open", startedAt });
  }
  return [...calls.values()].toSorted((one, other) => one.startedAt - other.startedAt);
}
