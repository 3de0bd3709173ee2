import type { Agent, AgentResult } from "../../agent/agent.ts";
import type { RunHandle, RunStatus } from "../../agent/handle.ts";
import type { HireOutcome, HireUsage } from "../../agent/leaves.ts";
import type { RunContext } from "../../agent/run-context.ts";
import type { RaviError } from "../../errors/base.ts";
import { InvalidValueError, ToolError } from "../../errors/errors.ts";
import { executionBudget, type ExecutionBudgetOptions } from "../../policy/execution-budget.ts";
import type { Ledger } from "../../ports/ledger.ts";
import { isLedger } from "../limits.ts";
import { isCancellation, isMarked } from "../../errors/is.ts";
import { messageOf } from "../../errors/message-of.ts";
import type { BareInbox } from "../bare-inbox.ts";
import { checkHosted } from "../check-agent.ts";
import { hasLayers } from "../pipeline-levels.ts";
import { readResult } from "../read-result.ts";

/** A child that runs in a `BareContext`. */
export interface BareChild<T = unknown> {
  readonly handle: RunHandle<T>;
  readonly inbox: BareInbox;
  /** Never rejects. */
  readonly outcome: Promise<HireOutcome<T>>;
  /** What the child and everyone below it have used so far. */
  readonly used: () => HireUsage;
}

export interface ChildWatch {
  readonly used: () => HireUsage;
  readonly onEnd: () => void;
}

/** Runs an agent as a child, in memory. */
export function startChild<T>(
  agent: Agent<T>,
  ctx: RunContext,
  inbox: BareInbox,
  { used, onEnd }: ChildWatch,
): BareChild<T> {
  refuseLayers(agent);
  refuseBudget("agent ", agent.id, agent.defaults?.executionBudget);
  const ended = runOf(agent, ctx, inbox);
  const outcome = ended.then(
    (result): HireOutcome<T> => ({ status: result.status, result }),
    (error: unknown): HireOutcome<T> => ({
      status: isCancellation(error) ? "cancelled" : "failed",
      error: asRavi(error, agent),
    }),
  );
  const settled = outcome.then((done) => {
    handle.status =
      done.status === "paused" || done.status === "timedOut" || done.status === "denied"
        ? "suspended"
        : done.status;
    ctx.meta.cancellation.dispose();
    onEnd();
    return { ...done, ...used() };
  });
  const handle = {
    runId: ctx.meta.runId,
    execId: ctx.execId,
    agentId: ctx.agentId,
    status: "running" as RunStatus,
    cancel: (reason: string): void => ctx.meta.cancellation.cancel(reason),
  };
  return { handle, inbox, outcome: settled, used };
}

/** Asynchronous, so that an agent that throws synchronously fails like any other. */
async function runOf<T>(agent: Agent<T>, ctx: RunContext, inbox: BareInbox): Promise<AgentResult<T>> {
  return readResult(agent.id, await agent.run(ctx, inbox));
}

/** Throws if the agent has middleware: nothing would run it here, and a guard must not be dropped silently. */
export function refuseLayers(agent: Agent): void {
  checkHosted(agent);
  if (!hasLayers(agent.pipelines)) return;
  const expected = "an agent without middleware, which a bare context cannot run; use a Runtime";
  throw new InvalidValueError({ field: `agent ${agent.id}: pipelines`, value: agent.pipelines, expected });
}

/** Throws if there is a limit or a ledger: nothing enforces it here, and the user would only notice from the bill. */
export function refuseBudget(
  owner: string,
  id: string,
  budget: ExecutionBudgetOptions | Ledger | undefined,
): void {
  // Most agents have a budget without limits, which need not be checked in full for each hire.
  if (budget === undefined || !mayLimit(budget)) return;
  if (!isLedger(budget)) executionBudget(budget);
  const value = isLedger(budget) ? "a ledger" : JSON.stringify(budget);
  const expected =
    "none, because nothing enforces it without a runtime; use a Runtime with a ledger, or the sdk";
  throw new InvalidValueError({ field: `${owner}${id}: executionBudget`, value, expected });
}

/** Whether it has any field but empty ones. One of a wrong name or type is found by `executionBudget`. */
function mayLimit(budget: ExecutionBudgetOptions | Ledger): boolean {
  if (isLedger(budget)) return true;
  for (const name in budget) if ((budget[name as keyof ExecutionBudgetOptions] ?? null) !== null) return true;
  return false;
}

/** The error itself if it is a Ravi error, else a `ToolError` in the agent's name with the error as its cause. */
export function asRavi(error: unknown, agent: Pick<Agent, "id">): RaviError {
  if (isMarked(error)) return error;
  return new ToolError({
    toolName: agent.id,
    message: `${agent.id} failed: ${messageOf(error)}`,
    cause: error,
  });
}
