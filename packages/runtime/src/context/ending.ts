import {
  type CancellationError,
  errorToJSON,
  type HireOutcome,
  HistoryRetention,
  HookEvent,
  isPromiseLike,
  isRaviError,
  JournalFailedError,
  type MaybePromise,
  type TimerHandle,
} from "@ravi/kernel";
import { guardedHooks, isAmong, messageOf, tellLog, tellOwn, tellTermination } from "@ravi/kernel/loop";
import { orLog } from "../or-log.ts";
import type { Execution } from "./execution.ts";
import { abandonAttempts } from "./money/abandoned.ts";
import { audit } from "./observe.ts";

/** How long an agent, or what it has left running, may go on after it was told to stop, before nobody waits for it any more. */
export const GRACE_MS = 50;

/** The same for a history: a disk that is busy, or far away, needs more than a listener does. */
const HISTORY_MS = 1_000;

/** How long an audit log may take for the last entries: it may be far away, but it changes no run. */
const AUDIT_MS = 10_000;

/** An agent that is done, and what remains to be done about it. */
export interface Ending {
  readonly exec: Execution;
  readonly outcome: HireOutcome;
  readonly isCrash: boolean;
  readonly startedAt: number;
}

/** In this order. Most of them have nothing to wait for, so that a run needs no promise for its end. */
const STEPS: readonly ((ending: Ending) => MaybePromise<void>)[] = [
  endLastOperation,
  leaveCalls,
  endChildren,
  keepHistory,
  tellObservers,
  forgetHistory,
  tellListeners,
  drainListeners,
  drainAudits,
];

export function end(ending: Ending, from = 0): MaybePromise<void> {
  for (let at = from; at < STEPS.length; at++) {
    const done = STEPS[at]?.(ending);
    if (isPromiseLike(done)) return endAfter(done, ending, at + 1);
  }
}

// Not written into the loop: a closure there makes every round of it keep its variables, waited for or not.
function endAfter(done: PromiseLike<void>, ending: Ending, next: number): Promise<void> {
  return Promise.resolve(done).then(() => end(ending, next));
}

/**
 * An agent has ended while an operation of its own was under way, because it did not await it. It is aborted and waited for, so
 * that nothing of it is recorded or paid after the end; but no longer than the grace.
 */
function endLastOperation({ exec, outcome }: Ending): MaybePromise<void> {
  if (outcome.status === "cancelled") {
    const { reason } = outcome.error as { reason?: string };
    const details = reason === undefined ? {} : { reason };
    audit(exec, { action: "cancel", target: exec.agentId, outcome: "ok", details });
  }
  return exec.lane.isBusy ? lastOperation(exec) : undefined;
}

async function lastOperation(exec: Execution): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  exec.lane.whenFree(resolve);
  const timer = exec.ports.clock.setTimer?.(resolve, GRACE_MS);
  exec.lane.forgive();
  exec.token.cancel(hasEnded(exec));
  await promise;
  timer?.cancel();
}

/** Why what it has left running is stopped. */
function hasEnded({ agentId }: Execution): string {
  return `${agentId} has ended`;
}

export function leaveCalls({ exec, isCrash }: Pick<Ending, "exec"> & Partial<Ending>): MaybePromise<void> {
  exec.isOver = true;
  // They would stand there for nothing. Of one that has crashed, those below it may go on: they are not stopped.
  if (exec.inLine > 0 && isCrash !== true) exec.token.cancel(hasEnded(exec));
  const left = abandonAttempts(exec);
  return left === undefined ? undefined : settledInTime(exec, left);
}

/** Money of calls that nobody waits for any more; nor does anybody wait for a ledger that never answers. */
function settledInTime(exec: Execution, settled: Promise<void>): Promise<void> {
  const problem = `the ledger of ${exec.agentId} does not answer; what it was told of its last calls may not be counted`;
  return inTime(exec, settled, GRACE_MS, problem);
}

/** For what never rejects. */
async function inTime(
  { ports }: Execution,
  work: Promise<unknown>,
  limitMs: number,
  problem: string,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const timer = ports.clock.setTimer?.(() => resolve(false), limitMs);
  void work.then(() => resolve(true));
  const isInTime = await promise;
  timer?.cancel();
  if (!isInTime) tellLog(ports.logger, "warn", problem);
}

function endChildren({ exec, outcome, isCrash }: Ending): MaybePromise<void> {
  exec.lane.close();
  return exec.engine.end(outcome, { isCrash });
}

function keepHistory({ exec, outcome }: Ending): MaybePromise<void> {
  if (exec.ports.history === undefined || !("result" in outcome)) return undefined;
  const { supervision, engine } = exec;
  const keep = (): MaybePromise<void> =>
    whileWanted(exec, outcome, exec.history.keep(), HISTORY_MS, historyLate);
  // A run that is on record is not over then: whoever resumes it has its result, and its history is written.
  return supervision.isRoot && engine.isDurable ? keep() : unlessItFails(exec, "kept", keep);
}

function historyLate({ agentId }: Execution): never {
  const cause = new Error(`it has not answered for ${HISTORY_MS} ms after the run was stopped`);
  throw new JournalFailedError({ what: `the history of ${agentId}`, final: true, cause });
}

/** The agent has done its work and is paid: what it gave is not lost for what is kept beside it. */
function unlessItFails(
  exec: Execution,
  what: "kept" | "cleared",
  act: () => MaybePromise<void>,
): MaybePromise<void> {
  const message = `the history of ${exec.agentId} could not be ${what}; its result stands`;
  // For whoever has no log: what was promised to last is lost. When it is cleared, the end has been told already.
  const tell = (error: unknown): void => {
    if (what === "kept")
      exec.emit({ type: "progress", name: "historyLost", data: { error: messageOf(error) } });
  };
  return orLog(exec.ports.logger, "error", message, act, tell);
}

function tellObservers({ exec, outcome }: Ending): void {
  if ("result" in outcome) exec.emit({ type: "completed", result: outcome.result });
  else if ("error" in outcome) exec.emit({ type: "error", error: errorToJSON(outcome.error) });
  exec.isTold = true;
}

/** A history that lives only as long as the run goes with it, whatever its end. */
function forgetHistory({ exec, outcome }: Ending): MaybePromise<void> {
  const { history } = exec.ports;
  if (history === undefined || exec.supervision.retention !== HistoryRetention.RUN) return undefined;
  const key = exec.history.key();
  if (key === undefined) return undefined;
  return unlessItFails(exec, "cleared", () =>
    whileWanted(exec, outcome, history.clear(key), HISTORY_MS, historyLate),
  );
}

function tellListeners({ exec, outcome, startedAt }: Ending): void {
  if ("error" in outcome && isRaviError(outcome.error, "MIDDLEWARE_TERMINATION"))
    tellTermination(exec.hooks, outcome.error, () => exec.hookBase(false));
  if (!exec.hooks.has(HookEvent.RUN_END)) return;
  const { usage, costUsd } = exec.engine.used;
  const { agentName, agentId, runId, execId, sessionId, at } = exec.hookBase(false);
  const { status } = outcome;
  const payload = {
    agentName,
    agentId,
    runId,
    execId,
    sessionId,
    at,
    status: status === "timedOut" || status === "denied" ? ("failed" as const) : status,
    // What is told is frozen; the run's result holds the same usage.
    usage: { ...usage },
    costUsd,
    durationMs: at - startedAt,
  };
  const error = "error" in outcome ? errorToJSON(outcome.error) : undefined;
  tellOwn(exec.hooks, HookEvent.RUN_END, error === undefined ? payload : { ...payload, error });
}

function drainListeners({ exec, outcome }: Ending): MaybePromise<void> {
  const isOwnOnly = outcome.status === "cancelled" && !exec.supervision.isRoot;
  const drained = isOwnOnly ? drainOwn(exec) : exec.hooks.drain?.();
  return whileWanted(exec, outcome, drained, GRACE_MS, listenersLate);
}

function listenersLate({ agentId, ports }: Execution): void {
  const problem = `listeners of ${agentId} were still at work when it was cancelled; they are not waited for`;
  tellLog(ports.logger, "warn", problem);
}

/** Those of a whole tree are waited for once, by its root; those that only this agent has, by nobody else. */
function drainOwn({ ports, engine }: Execution): MaybePromise<void> {
  const { hooks } = engine.start.agent;
  if (hooks === undefined || isAmong(ports.hooks, hooks)) return undefined;
  return guardedHooks(hooks, ports.logger).drain?.();
}

/**
 * What others do beside a run. Whoever has cancelled it, before its end or while they are at it, does not wait for them for longer than
 * that: T4.
 */
function whileWanted(
  exec: Execution,
  { status }: HireOutcome,
  work: MaybePromise<void>,
  limitMs: number,
  onLate: (exec: Execution) => void,
): MaybePromise<void> {
  if (!isPromiseLike(work)) return undefined;
  return unlessCancelled(exec, Promise.resolve(work), status === "cancelled", limitMs, onLate);
}

async function unlessCancelled(
  exec: Execution,
  work: Promise<void>,
  isCancelled: boolean,
  limitMs: number,
  onLate: (exec: Execution) => void,
): Promise<void> {
  const { token, engine, ports } = exec;
  const { promise, resolve } = Promise.withResolvers<"late">();
  let patience: TimerHandle | undefined;
  const losePatience = (): void => {
    patience ??= ports.clock.setTimer?.(() => resolve("late"), limitMs);
  };
  const hear = (error: CancellationError): void => {
    if (isFromOutside(exec, error)) losePatience();
  };
  const unlisten = token.onCancel(hear);
  // Who was out of time, or has left something running, has ended all the same; its token says nothing more.
  const unlistenToRun = engine.runToken?.onCancel(hear);
  if (isCancelled) losePatience();
  try {
    if ((await Promise.race([work, promise])) === "late") onLate(exec);
  } finally {
    patience?.cancel();
    unlisten();
    unlistenToRun?.();
  }
}

function isFromOutside(exec: Execution, { code, reason }: CancellationError): boolean {
  return code === "CANCELLED" && reason !== hasEnded(exec);
}

function drainAudits({ exec }: Ending): MaybePromise<void> {
  const { audits, agentId } = exec;
  if (audits === undefined || audits.size === 0) return undefined;
  const problem = `the audit log does not answer; what ${agentId} did last may not be in it`;
  return inTime(exec, Promise.all(audits), AUDIT_MS, problem);
}
