import {
  agentName,
  type AgentResult,
  type AgentRunContext,
  DeadlineExceededError,
  errorToJSON,
  type HireOutcome,
  HistoryRetention,
  HookEvent,
  InvalidValueError,
  isCancellation,
  isPromiseLike,
  isRaviError,
  type RaviError,
  type StopReason,
  type TimerHandle,
  ToolError,
} from "@ravi/kernel";
import { messageOf } from "@ravi/kernel/loop";
import type { Execution } from "./context/execution.ts";
import type { ExecutionInbox } from "./context/inbox.ts";
import { withScope } from "./scope.ts";
import { costOf } from "./tree/accounts.ts";
import { Suspension } from "./engine/suspension.ts";

/** How long an agent may go on after it was told to stop, before nobody waits for it any more. */
const GRACE_MS = 50;
const CATCH_UP_MS = 10;

/** Runs one agent to its end, whatever end that is. Throws only a `Suspension`, and what breaks the journal. */
export async function host(exec: Execution, inbox: ExecutionInbox): Promise<HireOutcome> {
  const { clock } = exec.tree.ports;
  const started = clock.now();
  exec.emit({ type: "started", input: inbox.input });
  if (exec.hooks.has(HookEvent.RUN_START)) {
    void exec.hooks.dispatch(HookEvent.RUN_START, { ...exec.hookBase(false), input: inbox.input });
  }
  const { scope, ambientScope } = exec.tree;
  const running = ambientScope ? withScope(scope, () => settle(exec, inbox)) : settle(exec, inbox);
  const stopTimer = startDeadline(exec);
  const outcome = await orAbandoned(exec, running).finally(stopTimer);
  await endChildren(exec, outcome);
  if ("result" in outcome) {
    await exec.history.keep();
    exec.emit({ type: "completed", result: outcome.result });
  } else if ("error" in outcome) {
    exec.emit({ type: "error", error: errorToJSON(outcome.error) });
  }
  await forget(exec);
  if (exec.hooks.has(HookEvent.RUN_END)) {
    void exec.hooks.dispatch(HookEvent.RUN_END, {
      ...exec.hookBase(false),
      status: outcome.status === "timedOut" || outcome.status === "denied" ? "failed" : outcome.status,
      usage: exec.account.usage,
      costUsd: costOf([exec.account]),
      durationMs: clock.now() - started,
      ...("error" in outcome && { error: errorToJSON(outcome.error) }),
    });
  }
  const heard = exec.hooks.drain();
  if (isPromiseLike(heard)) await heard;
  return outcome;
}

async function settle(exec: Execution, inbox: ExecutionInbox): Promise<HireOutcome> {
  try {
    const result = await throughLayers(exec, inbox);
    if (exec.tree.suspension !== undefined) throw exec.tree.suspension;
    checkWritable(exec, result);
    return afterStop(exec, result) ?? { status: result.status, result };
  } catch (error) {
    if (exec.tree.suspension !== undefined) throw exec.tree.suspension;
    // A provider's client throws what it likes when it is aborted; why it was aborted is what counts.
    return fate(exec, exec.token.error ?? error);
  }
}

/** The token is cancelled when the time comes, so that a call that hangs is aborted and not only noticed. */
function startDeadline(exec: Execution): () => void {
  const { deadline } = exec;
  const { clock } = exec.tree.ports;
  if (deadline === null) return () => {};
  let timer: TimerHandle | undefined;
  const arm = (delayMs: number): void => {
    timer = clock.setTimer?.(() => {
      // What is on record was done in time: it is caught up with first, and costs nothing.
      if (exec.engine.isCatchingUp) arm(CATCH_UP_MS);
      else exec.token.cancel(new DeadlineExceededError({ deadline }));
    }, delayMs);
  };
  arm(Math.max(0, deadline - clock.now()));
  return () => timer?.cancel();
}

/** A child does not outlive its parent: whoever nobody joined is cancelled, and its seat is free before the parent's is. */
async function endChildren(exec: Execution, outcome: HireOutcome): Promise<void> {
  const { tree } = exec;
  const isCrashed = "error" in outcome && isCrash(outcome.error);
  if (
    isCrashed &&
    exec.supervision.isRoot &&
    tree.journal !== undefined &&
    tree.ports.restart !== undefined
  ) {
    // It may be started again, and then goes on with its children: they are unwound, and nothing is recorded of it.
    tree.suspend("its root crashed and may be started again");
  }
  const living = [...exec.children.values()].filter(({ handle }) => handle.status === "running");
  for (const { handle } of living) handle.cancel(`${exec.agentId}, who hired it, has ended`);
  // Their outcomes are on record with their hires; here it only matters that they are over.
  await Promise.allSettled(living.map((child) => child.outcome));
}

/** What cannot be written down is refused here, where it is the agent's failure and not the journal's. */
function checkWritable({ tree, agentId }: Execution, { structured }: AgentResult): void {
  if (structured === undefined || tree.journal === undefined) return;
  try {
    JSON.stringify(structured);
  } catch (cause) {
    const expected = `plain JSON, to be written down (${messageOf(cause)})`;
    throw new InvalidValueError({
      field: `${agentId}: result.structured`,
      value: structured,
      expected,
      cause,
    });
  }
}

/** An agent that was told to stop and returned all the same: a cancelled run is cancelled, a late result is partial. */
function afterStop(exec: Execution, result: AgentResult): HireOutcome | undefined {
  const { error } = exec.token;
  if (error === undefined) return undefined;
  if (error.code === "CANCELLED") return { status: "cancelled", error };
  if (result.status !== "completed") return undefined;
  return { status: "partial", result: { ...result, status: "partial", stopReason: "deadline" } };
}

async function throughLayers(exec: Execution, inbox: ExecutionInbox): Promise<AgentResult> {
  const { agent, plan, tree } = exec;
  if (plan.agent === undefined) return agent.run(exec, inbox);
  const context: AgentRunContext = {
    agentName: agentName(exec.agentId),
    runId: tree.runId,
    sessionId: exec.supervision.sessionId,
    meta: exec.meta,
    hooks: exec.hooks,
    clock: tree.ports.clock,
    signal: exec.signal,
    input: inbox.input,
    result: undefined,
  };
  await plan.agent.run(context, async () => {
    context.result = await agent.run(
      exec,
      context.input === inbox.input ? inbox : inbox.withInput(context.input),
    );
  });
  if (context.result !== undefined) return context.result;
  throw new TypeError(`a layer around ${exec.agentId} neither called next() nor set a result`);
}

/** What an error that an agent let through means. A budget or a deadline cuts it off; it has not failed. */
function fate(exec: Execution, error: unknown): HireOutcome {
  const cutOff = (stopReason: StopReason): HireOutcome => ({
    status: "partial",
    result: { status: "partial", output: exec.history.lastText, stopReason },
  });
  if (isRaviError(error, "BUDGET_EXHAUSTED")) return cutOff("budget");
  if (isRaviError(error, "DEADLINE_EXCEEDED")) return cutOff("deadline");
  if (isRaviError(error, "PAUSED")) {
    return {
      status: "paused",
      result: { status: "paused", output: exec.history.lastText, stopReason: "paused" },
    };
  }
  const known: RaviError = isRaviError(error)
    ? error
    : crashed({
        toolName: exec.agentId,
        message: `${exec.agentId} failed: ${messageOf(error)}`,
        cause: error,
      });
  return { status: isCancellation(known) ? "cancelled" : "failed", error: known };
}

const crashes = new WeakSet<RaviError>();

/** Whether the agent's own code threw, and not a rule, a provider or a tool. */
export function isCrash(error: RaviError): boolean {
  return crashes.has(error);
}

function crashed(init: ConstructorParameters<typeof ToolError>[0]): ToolError {
  const error = new ToolError(init);
  crashes.add(error);
  return error;
}

/**
 * An agent that is told to stop and does not is left behind after its grace, and said so. Its promise may still settle; what
 * it does then reaches nothing, because every operation of its context is refused.
 */
async function orAbandoned(exec: Execution, running: Promise<HireOutcome>): Promise<HireOutcome> {
  const { clock, logger } = exec.tree.ports;
  const { promise, resolve, reject } = Promise.withResolvers<HireOutcome>();
  running.then(resolve, reject);
  let timer: { cancel(): void } | undefined;
  const stop = (error: RaviError | Suspension): void => {
    timer ??= clock.setTimer?.(() => {
      logger?.warn(`${exec.agentId} did not stop when it was told to, and is no longer waited for`);
      if (error instanceof Suspension) reject(error);
      else resolve(fate(exec, error));
    }, GRACE_MS);
  };
  const unlisten = exec.token.onCancel(stop);
  const unsuspend = exec.tree.onSuspend(stop);
  try {
    return await promise;
  } finally {
    timer?.cancel();
    unlisten();
    unsuspend();
  }
}

/** A history that lives only as long as the run goes with it, whatever its end. */
async function forget(exec: Execution): Promise<void> {
  const { history } = exec.tree.ports;
  const key = exec.history.key();
  if (history === undefined || key === undefined || exec.supervision.retention !== HistoryRetention.RUN)
    return;
  await history.clear(key);
}
