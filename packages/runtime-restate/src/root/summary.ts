import type {
  AgentId,
  ExecId,
  JsonObject,
  JsonValue,
  PendingWait,
  RunSummary,
  SerializedError,
} from "@ravi/kernel";
import { listedError, listedText } from "@ravi/kernel/loop";
import type { Launch, RunView } from "./messages.ts";
import type { RootState } from "./state.ts";
import { rootOf } from "./tree.ts";

export function statusOf(state: RootState): Exclude<RunView["status"], "pending"> {
  if (state.result !== undefined) return "over";
  const living = Object.values(state.execs).filter(({ phase }) => phase !== "over");
  if (living.some(({ suspended }) => suspended !== undefined)) return "suspended";
  return living.some(({ wants }) => Object.keys(wants).length > 0) ? "waiting" : "running";
}

/** The entry of a run in the list of runs. */
export function summaryOf(state: RootState): JsonObject {
  const status = statusOf(state);
  const ended = state.result?.["status"];
  const shown = {
    running: "running",
    waiting: "suspended",
    suspended: "suspended",
    over: endOf(ended),
  } as const;
  const waits = waitsOf(state) as readonly (PendingWait & JsonObject)[];
  return {
    runId: state.runId,
    agent: rootOf(state).launch.agent,
    status: shown[status],
    startedAt: state.startedAt,
    updatedAt: state.at,
    entries: state.entries,
    ...whose(rootOf(state).launch),
    ...(waits.length > 0 && { waitingFor: waits }),
    ...reasonsOf(state),
  };
}

/** Why it is suspended, or has ended before it was done; and why it was cancelled, if it has not ended yet. */
export function reasonsOf(state: RootState): JsonObject & Pick<RunSummary, "error" | "cancelReason"> {
  const { result } = state;
  const failure = result === undefined ? suspensionIn(state) : result["failure"];
  const error = listedError(failure);
  const { stopped } = rootOf(state);
  const isCancelled = result === undefined && stopped !== undefined && stopped.deadline === undefined;
  return {
    ...(error !== undefined && { error }),
    ...(isCancelled && { cancelReason: listedText(stopped.reason) }),
  };
}

/** Why one of its executions cannot go on; undefined if all can. */
export function suspensionIn({ execs }: RootState): SerializedError | undefined {
  return Object.values(execs).find(({ suspended }) => suspended !== undefined)?.suspended;
}

function whose({ supervision, tenantId, userId }: Launch): JsonObject {
  return {
    sessionId: supervision["sessionId"],
    ...(tenantId !== null && { tenantId }),
    ...(userId !== null && { userId }),
  };
}

/** What its executions wait for. Those that were told to stop wait for nothing. Timers are the server's, and not known here. */
export function waitsOf({ execs, startedAt, result }: RootState): readonly PendingWait[] {
  if (result !== undefined) return [];
  return Object.entries(execs).flatMap(([execId, exec]): PendingWait[] => {
    if (exec.phase === "over" || exec.stopped !== undefined) return [];
    const who = { agentId: exec.agentId as AgentId, execId: execId as ExecId };
    const wanted = Object.values(exec.wants).map(({ name, question, since, isApproval }): PendingWait => {
      const kind = isApproval === true ? "approval" : "signal";
      return { kind, name, ...who, since, ...(question !== undefined && { question }) };
    });
    const doubts = Object.keys(exec.doubts).map((key): PendingWait => {
      const question = exec.questions?.[key];
      return {
        kind: "decision",
        name: `${execId}:${key}`,
        ...who,
        since: exec.suspendedAt ?? startedAt,
        ...(question !== undefined && { question }),
      };
    });
    return [...wanted, ...doubts];
  });
}

/** How a run with that outcome has ended. */
export function endOf(status: JsonValue | undefined): "completed" | "partial" | "failed" | "cancelled" {
  if (status === "completed" || status === "cancelled") return status;
  return status === "partial" || status === "paused" ? "partial" : "failed";
}
