import {
  CancellationError,
  errorToJSON,
  type HireOutcome,
  HookEvent,
  isPromiseLike,
  isRaviError,
  type MaybePromise,
} from "@ravi/kernel";
import { guardedHooks, isAmong, tellOwn, tellTermination } from "@ravi/kernel/loop";
import { andThen } from "../promises/and-then.ts";
import { logOf } from "../run/run-log.ts";
import { reasonOfEnd, waitAtMost, waitUnlessCancelled } from "./bounded-wait.ts";
import { forgetHistory, keepHistory } from "./end-history.ts";
import type { Execution } from "./execution.ts";
import { abandonOpen } from "./money/abandoned.ts";
import { audit, endOpenSpans } from "./observe.ts";

/** How long an agent, and what it has left running, may take to stop. After that nobody waits for it. */
export const GRACE_MS = 50;

/** How long an audit log may take for the last entries. It may be far away. */
const AUDIT_MS = 10_000;

/** The end of an agent whose outcome is known. */
export interface Ending {
  readonly exec: Execution;
  readonly outcome: HireOutcome;
  /** The agent's own code threw. */
  readonly isCrash: boolean;
  readonly startedAt: number;
}

/**
 * Ends an agent, step by step. Most steps have nothing to wait for, and then the end makes no promise. Each step calls the next one: to call
 * them from a list took 5 % of a bare run, because V8 inlines none of them there.
 */
export function end(ending: Ending): MaybePromise<void> {
  auditCancellation(ending);
  return andThen(stopLastOperation(ending), endCalls, ending);
}

function endCalls(_: void, ending: Ending): MaybePromise<void> {
  return andThen(abandonCalls(ending), endHires, ending);
}

function endHires(_: void, ending: Ending): MaybePromise<void> {
  return andThen(endChildren(ending), endHistory, ending);
}

function endHistory(_: void, ending: Ending): MaybePromise<void> {
  return andThen(keepHistory(ending), tellObservers, ending);
}

function tellObservers(_: void, ending: Ending): MaybePromise<void> {
  emitEnd(ending);
  return andThen(forgetHistory(ending), tellListeners, ending);
}

function tellListeners(_: void, ending: Ending): MaybePromise<void> {
  reportEnd(ending);
  return andThen(drainListeners(ending), drainAudits, ending);
}

function auditCancellation({ exec, outcome }: Ending): void {
  if (outcome.status !== "cancelled") return;
  const { reason } = outcome.error as { reason?: string };
  const details = reason === undefined ? {} : { reason };
  audit(exec, { action: "cancel", target: exec.agentId, outcome: "ok", details });
}

/**
 * An agent may end without having awaited its last operation. That is cancelled and waited for, so that nothing of it is recorded or
 * paid after the end; but no longer than the grace.
 */
function stopLastOperation({ exec }: Ending): MaybePromise<void> {
  return exec.lane.isBusy ? cancelLastOperation(exec) : undefined;
}

async function cancelLastOperation(exec: Execution): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  exec.lane.whenFree(resolve);
  const timer = exec.ports.clock.setTimer?.(resolve, GRACE_MS);
  exec.lane.ignoreRejection();
  exec.token.cancel(reasonOfEnd(exec));
  await promise;
  timer?.cancel();
}

/** Settles the money of calls that are still running, and ends their spans: nobody waits for their answers. Also used when a run is suspended. */
export function abandonCalls({ exec, isCrash }: Pick<Ending, "exec"> & Partial<Ending>): MaybePromise<void> {
  exec.isOver = true;
  endOpenSpans(exec, () => exec.stopped ?? new CancellationError({ reason: reasonOfEnd(exec) }));
  // Calls that wait in the limiter's line leave it. Not after a crash: the token would also stop the children, which may go on.
  if (exec.inLine > 0 && isCrash !== true) exec.token.cancel(reasonOfEnd(exec));
  const settled = abandonOpen(exec);
  if (settled === undefined) return undefined;
  const problem = `the ledger of ${exec.agentId} did not answer within ${GRACE_MS} ms; its last calls may not be counted`;
  return waitAtMost(exec, GRACE_MS, settled, problem);
}

function endChildren({ exec, outcome, isCrash }: Ending): MaybePromise<void> {
  exec.lane.close();
  return exec.engine.end(outcome, { isCrash });
}

function emitEnd({ exec, outcome }: Ending): void {
  if ("result" in outcome) exec.emit({ type: "completed", result: outcome.result });
  else if ("error" in outcome) exec.emit({ type: "error", error: errorToJSON(outcome.error) });
  exec.isEndEmitted = true;
}

function reportEnd({ exec, outcome, startedAt }: Ending): void {
  if ("error" in outcome && isRaviError(outcome.error, "MIDDLEWARE_TERMINATION"))
    tellTermination(exec.hooks, outcome.error, () => exec.hookBase(false));
  if (!exec.hooks.has(HookEvent.RUN_END)) return;
  const { usage, costUsd } = exec.engine.used;
  const base = exec.hookBase(false);
  const { status } = outcome;
  const payload = {
    ...base,
    status: status === "timedOut" || status === "denied" ? ("failed" as const) : status,
    // Copied, because the payload is frozen and the result of the run holds the same object.
    usage: { ...usage },
    costUsd,
    durationMs: Math.max(0, base.at - startedAt),
  };
  const error = "error" in outcome ? errorToJSON(outcome.error) : undefined;
  tellOwn(exec.hooks, HookEvent.RUN_END, error === undefined ? payload : { ...payload, error });
}

/** A cancelled child waits only for listeners of its own: the root waits for those of the whole tree. */
function drainListeners({ exec, outcome }: Ending): MaybePromise<void> {
  const isOwnOnly = outcome.status === "cancelled" && !exec.supervision.isRoot;
  const drained = isOwnOnly ? drainOwn(exec) : exec.hooks.drain?.();
  if (!isPromiseLike(drained)) return undefined;
  return waitUnlessCancelled(drained, { exec, outcome, limitMs: GRACE_MS, onLate: logLateListeners });
}

function drainOwn({ ports, engine }: Execution): MaybePromise<void> {
  const { hooks } = engine.start.agent;
  if (hooks === undefined || isAmong(ports.hooks, hooks)) return undefined;
  return guardedHooks(hooks, ports.logger).drain?.();
}

function logLateListeners(exec: Execution): void {
  const problem = `listeners of ${exec.agentId} were still running when it was cancelled; the run does not wait for them`;
  logOf(exec, "warn", problem);
}

function drainAudits(_: void, { exec }: Ending): MaybePromise<void> {
  const { audits, agentId } = exec;
  if (audits === undefined || audits.size === 0) return undefined;
  const problem = `the audit log did not answer within ${AUDIT_MS} ms; the last entries of ${agentId} may be missing`;
  return waitAtMost(exec, AUDIT_MS, Promise.all(audits), problem);
}
