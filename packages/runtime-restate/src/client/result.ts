import {
  addUsage,
  type Agent,
  errorFromJSON,
  type HireOutcome,
  NO_USAGE,
  type RaviError,
  type RunId,
  type RunResult,
  Supervision,
} from "@ravi/kernel";
import { addCost, exceededIn, readAgain, runLimits } from "@ravi/kernel/loop";
import { outcomeFromJSON } from "../outcome.ts";
import type { RunView } from "../root/messages.ts";
import { NOTHING_SPENT } from "../root/state.ts";

/** The result of a run from its view; undefined while it runs. */
export function resultOf(runId: RunId, view: RunView): RunResult | undefined {
  const { status, result, error } = view;
  if (status === "over" && result !== undefined)
    return buildResult(runId, view, endingOf(outcomeFromJSON(result)));
  if (status !== "suspended" || error === undefined) return undefined;
  return buildResult(runId, view, {
    status: "suspended",
    output: "",
    error: errorFromJSON(error) as RaviError,
  });
}

/** The view does not say which version of its agent it was, so all are tried: a value that is not the recorded one is not taken. */
export function shaped(
  result: RunResult | undefined,
  { agentId }: RunView,
  agents: ReadonlyMap<string, Agent>,
): RunResult | undefined {
  if (result?.structured === undefined || agentId === undefined) return result;
  const versions = [...agents.values()].filter(({ id }) => id === agentId);
  return versions.reduce((read, { output }) => readAgain(read, output), result);
}

/** The result for a client that closes while the run continues. */
export function detachedResult(runId: RunId): RunResult {
  return { runId, status: "suspended", output: "", usage: NO_USAGE, cost: 0 };
}

type Ending = Pick<
  RunResult,
  "status" | "output" | "structured" | "stopReason" | "problem" | "stoppedBy" | "error"
>;

function endingOf(outcome: HireOutcome): Ending {
  const { stoppedBy } = outcome;
  if ("result" in outcome) {
    const { output, structured, stopReason, problem } = outcome.result;
    return {
      status: outcome.status === "completed" ? "completed" : "partial",
      output,
      structured,
      stopReason,
      ...(problem !== undefined && { problem }),
      ...(stoppedBy !== undefined && { stoppedBy }),
    };
  }
  const error = "error" in outcome ? outcome.error : undefined;
  return { status: outcome.status === "cancelled" ? "cancelled" : "failed", output: "", error };
}

function buildResult(runId: RunId, view: RunView, ending: Ending): RunResult {
  return { runId, ...ending, ...accountedOf(view) };
}

/** What a run has used, and within which limits. */
export function accountedOf(
  view: RunView,
): Pick<RunResult, "usage" | "cost" | "inDoubt" | "limits" | "agents" | "exceeded"> {
  const { inDoubt = [], accounts = [] } = view;
  const usage = accounts.reduce((sum, account) => addUsage(sum, account.usage), NO_USAGE);
  const cost = accounts.reduce<number | null>((sum, { costUsd }) => addCost(sum, costUsd), 0);
  const { limits, exceeded } = limitsOf(view);
  const whole = { usage, cost, inDoubt, limits, agents: accounts };
  return exceeded === undefined ? whole : { ...whole, exceeded };
}

function limitsOf(view: RunView): Pick<RunResult, "limits" | "exceeded"> {
  const { supervision, isCounted = false, isMetered = false } = view;
  const { granted = NOTHING_SPENT, used = NOTHING_SPENT } = view;
  if (supervision === undefined) return {};
  const root = Supervision.fromJSON(supervision);
  const limits = runLimits(root, { isCounted, isMetered }, granted);
  return { limits, exceeded: isMetered ? exceededIn(used, limits, root.agentId) : undefined };
}
