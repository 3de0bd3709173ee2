import {
  agentName,
  type AgentResult,
  type AgentRunContext,
  errorToJSON,
  type HireOutcome,
  HistoryRetention,
  HookEvent,
  InvalidValueError,
  isCancellation,
  isPromiseLike,
  isRaviError,
  type MaybePromise,
  type RaviError,
  type StopReason,
  ToolError,
} from "@ravi/kernel";
import { messageOf, readResult } from "@ravi/kernel/loop";
import type { Execution } from "./execution.ts";
import type { ExecutionInbox } from "./inbox.ts";
import { audit, endSpan, startSpan } from "./observe.ts";
import type { Plan } from "./plan.ts";

/** How long an agent may go on after it was told to stop, before nobody waits for it any more. */
const GRACE_MS = 50;

/** Runs one agent to its end, whatever end that is. Throws only what suspends it, and what breaks its engine. */
export async function host(exec: Execution, inbox: ExecutionInbox): Promise<HireOutcome> {
  const { engine, ports } = exec;
  const { clock } = ports;
  const started = clock.now();
  exec.emit({ type: "started", input: inbox.input });
  if (exec.hooks.has(HookEvent.RUN_START)) {
    void exec.hooks.dispatch(HookEvent.RUN_START, {
      ...exec.hookBase(engine.start.isResumed),
      input: inbox.input,
    });
  }
  const { isRoot, parentId } = exec.supervision;
  const span = startSpan(exec, isRoot ? "ravi.run" : "ravi.hire", {
    ...(parentId !== null && { parentId }),
    ...(engine.start.isResumed && { replayed: true }),
  });
  let outcome: HireOutcome;
  try {
    outcome = withLimit(exec, await settled(exec, inbox));
  } catch (error) {
    endSpan(exec, span, error);
    throw error;
  }
  endSpan(exec, span, "error" in outcome ? outcome.error : undefined);
  if (outcome.status === "cancelled") {
    const { reason } = outcome.error as { reason?: string };
    const details = reason === undefined ? {} : { reason };
    audit(exec, { action: "cancel", target: exec.agentId, outcome: "ok", details });
  }
  if (exec.isBusy) await lastOperation(exec);
  exec.close();
  const ended = engine.end(outcome, { isCrash: "error" in outcome && isCrash(outcome.error) });
  if (isPromiseLike(ended)) await ended;
  if ("result" in outcome) {
    const kept = exec.history.keep();
    if (isPromiseLike(kept)) await kept;
    exec.emit({ type: "completed", result: outcome.result });
  } else if ("error" in outcome) {
    exec.emit({ type: "error", error: errorToJSON(outcome.error) });
  }
  const forgotten = forget(exec);
  if (isPromiseLike(forgotten)) await forgotten;
  if (exec.hooks.has(HookEvent.RUN_END)) {
    void exec.hooks.dispatch(HookEvent.RUN_END, {
      ...exec.hookBase(false),
      status: outcome.status === "timedOut" || outcome.status === "denied" ? "failed" : outcome.status,
      usage: engine.used.usage,
      costUsd: engine.used.costUsd,
      durationMs: clock.now() - started,
      ...("error" in outcome && { error: errorToJSON(outcome.error) }),
    });
  }
  const heard = exec.hooks.drain();
  if (isPromiseLike(heard)) await heard;
  if (exec.audits !== undefined) await Promise.all(exec.audits);
  return outcome;
}

/** What an agent gave, as an outcome. Throws what suspends it. */
function outcomeOf(exec: Execution, given: AgentResult): HireOutcome {
  if (exec.engine.suspension !== undefined) throw exec.engine.suspension;
  const result = readResult(exec.agentId, given);
  checkWritable(exec, result);
  return afterStop(exec, result) ?? { status: result.status, result };
}

function failureOf(exec: Execution, error: unknown): HireOutcome {
  if (exec.engine.suspension !== undefined) throw exec.engine.suspension;
  // A provider's client throws what it likes when it is aborted; why it was aborted is what counts.
  return fate(exec, exec.token.error ?? error);
}

/** Says which limit it was, of whoever was cut off by one. */
function withLimit({ stoppedBy }: Execution, outcome: HireOutcome): HireOutcome {
  const isCutOff = "result" in outcome && outcome.result.stopReason === "budget";
  return isCutOff && stoppedBy !== undefined ? { ...outcome, stoppedBy } : outcome;
}

/** What cannot be written down is refused here, where it is the agent's failure and not the journal's. */
function checkWritable({ engine, agentId }: Execution, { structured }: AgentResult): void {
  if (structured === undefined || !engine.isDurable) return;
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

function throughLayers(exec: Execution, inbox: ExecutionInbox): Promise<AgentResult> {
  const { agent, plan } = exec;
  return plan.agent === undefined ? agent.run(exec, inbox) : through(plan.agent, exec, inbox);
}

async function through(
  layers: NonNullable<Plan["agent"]>,
  exec: Execution,
  inbox: ExecutionInbox,
): Promise<AgentResult> {
  const { agent, supervision, ports } = exec;
  const context: AgentRunContext = {
    agentName: agentName(exec.agentId),
    runId: supervision.runId,
    sessionId: supervision.sessionId,
    meta: exec.meta,
    hooks: exec.hooks,
    clock: ports.clock,
    signal: exec.signal,
    input: inbox.input,
    result: undefined,
  };
  await layers.run(context, async () => {
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
  exec.noteRefusal(error);
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
 * One agent at work, until it ends or is given up: one that is told to stop and does not is left behind after its grace, and
 * said so. Its promise may still settle; what it does then reaches nothing, because every operation of its context is refused.
 */
function settled(exec: Execution, inbox: ExecutionInbox): Promise<HireOutcome> {
  return new Promise((resolve, reject) => {
    const { clock, logger } = exec.ports;
    let timer: { cancel(): void } | undefined;
    const unlisten = exec.token.onCancel((error) => {
      timer ??= clock.setTimer?.(() => {
        logger?.warn(`${exec.agentId} did not stop when it was told to, and is no longer waited for`);
        unlisten();
        const { suspension } = exec.engine;
        if (suspension !== undefined) reject(suspension);
        else resolve(fate(exec, error));
      }, GRACE_MS);
    });
    const leave = (): void => {
      timer?.cancel();
      unlisten();
    };
    const fail = (error: unknown): void => {
      leave();
      try {
        resolve(failureOf(exec, error));
      } catch (suspension) {
        reject(suspension);
      }
    };
    const done = (given: AgentResult): void => {
      leave();
      try {
        resolve(outcomeOf(exec, given));
      } catch (error) {
        fail(error);
      }
    };
    try {
      const running: MaybePromise<AgentResult> = throughLayers(exec, inbox);
      // An agent that was not compiled may return its result without a promise.
      if (isPromiseLike(running)) running.then(done, fail);
      else done(running);
    } catch (error) {
      fail(error);
    }
  });
}

/**
 * An agent has ended while an operation of its own was under way, because it did not await it. It is aborted and waited for, so
 * that nothing of it is recorded or paid after the end; but no longer than the grace.
 */
async function lastOperation(exec: Execution): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  exec.whenFree(resolve);
  const timer = exec.ports.clock.setTimer?.(resolve, GRACE_MS);
  exec.token.cancel(`${exec.agentId} has ended`);
  await promise;
  timer?.cancel();
}

/** A history that lives only as long as the run goes with it, whatever its end. */
function forget(exec: Execution): MaybePromise<void> {
  const { history } = exec.ports;
  if (history === undefined || exec.supervision.retention !== HistoryRetention.RUN) return undefined;
  const key = exec.history.key();
  return key === undefined ? undefined : history.clear(key);
}
