import {
  type CancellationError,
  type HireOutcome,
  isPromiseLike,
  type MaybePromise,
  type TimerHandle,
} from "@ravi/kernel";
import { logOf } from "../run/run-log.ts";
import type { Execution } from "./execution.ts";

// At its end a run waits for a ledger, a history, listeners and an audit log. None of them may hold it up for good.

/** Waits for work that never rejects, `limitMs` at most. If that is not enough, it logs `problem` and goes on. */
export async function waitAtMost(
  exec: Execution,
  limitMs: number,
  work: Promise<unknown>,
  problem: string,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const timer = exec.ports.clock.setTimer?.(() => resolve(false), limitMs);
  void work.then(() => resolve(true));
  const isInTime = await promise;
  timer?.cancel();
  if (!isInTime) logOf(exec, "warn", problem);
}

/** How to wait for work at the end of an agent. */
export interface CancelledWait {
  readonly exec: Execution;
  readonly outcome: HireOutcome;
  /** How long to wait after the run was cancelled. */
  readonly limitMs: number;
  /** Called if that was not enough. */
  readonly onLate: (exec: Execution) => void;
}

/**
 * Waits for work as long as it takes. But if the run is cancelled, before or meanwhile, only for `limitMs` from then on: a cancelled run
 * has to end soon.
 */
export function waitUnlessCancelled(work: MaybePromise<void>, wait: CancelledWait): MaybePromise<void> {
  return isPromiseLike(work) ? raceCancellation(Promise.resolve(work), wait) : undefined;
}

async function raceCancellation(
  work: Promise<void>,
  { exec, outcome, limitMs, onLate }: CancelledWait,
): Promise<void> {
  const { token, engine, ports } = exec;
  const { promise, resolve } = Promise.withResolvers<"late">();
  let timer: TimerHandle | undefined;
  const startTimer = (): void => {
    timer ??= ports.clock.setTimer?.(() => resolve("late"), limitMs);
  };
  const onCancel = (error: CancellationError): void => {
    if (isFromOutside(exec, error)) startTimer();
  };
  const unlisten = token.onCancel(onCancel);
  // The agent's own token may have been cancelled before, by its deadline or its end, and then reports nothing more.
  const unlistenToRun = engine.runToken?.onCancel(onCancel);
  if (outcome.status === "cancelled") startTimer();
  try {
    if ((await Promise.race([work, promise])) === "late") onLate(exec);
  } finally {
    timer?.cancel();
    unlisten();
    unlistenToRun?.();
  }
}

function isFromOutside(exec: Execution, { code, reason }: CancellationError): boolean {
  return code === "CANCELLED" && reason !== reasonOfEnd(exec);
}

/** The reason with which the end of an agent cancels what it has left running. */
export function reasonOfEnd({ agentId }: Pick<Execution, "agentId">): string {
  return `${agentId} has ended`;
}
