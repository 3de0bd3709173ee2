import { type Clock, JournalFailedError, type TimerHandle } from "@ravi/kernel";
import { JOURNAL_TIMEOUT_MS } from "../engine/run-journal.ts";
import { eventLoopTurn } from "../engine/waiting.ts";
import type { LiveRun } from "./live-run.ts";

export interface JournalWait<T> {
  /** The operation of the journal, for the error message. */
  readonly what: string;
  readonly run: LiveRun;
  readonly clock: Clock;
  /** The run's deadline, if nothing else watches it yet. */
  readonly deadline?: number | null;
  /** The outcome of the run is known: the journal gets only its last second, whether or not the run was stopped. */
  readonly isOver?: boolean | undefined;
  /** Gets an answer that comes after the wait was given up. */
  readonly onLate?: ((value: T) => void) | undefined;
}

/**
 * Waits for an answer of the run's journal outside its agents, which have their own time limit. If the run is stopped and the journal
 * does not answer within `JOURNAL_TIMEOUT_MS`, it rejects with a `JournalFailedError`.
 */
export function awaitJournal<T>(
  operation: PromiseLike<T>,
  { what, run, clock, deadline = null, isOver, onLate = ignore }: JournalWait<T>,
): Promise<T> {
  const answer = Promise.resolve(operation);
  return new Promise((resolve, reject) => {
    let timeout: TimerHandle | undefined;
    let isLeft = false;
    const giveUp = (): void => {
      if (isLeft) return;
      leave();
      answer.then(onLate, ignore);
      const since = isOver === true ? "the run ended" : "the run was stopped";
      const cause = new Error(`no answer within ${JOURNAL_TIMEOUT_MS} ms after ${since}`);
      const failed = `journal.${what} for run ${run.runId}`;
      const hint = "how much of the run is recorded is not known; resume it to find out";
      reject(new JournalFailedError({ what: failed, final: true, cause, hint }));
    };
    const giveUpSoon = (): void => void eventLoopTurn().then(giveUp);
    const startTimeout = (): void => void (timeout ??= clock.setTimer?.(giveUpSoon, JOURNAL_TIMEOUT_MS));
    const unlisten = run.token.onCancel(startTimeout);
    run.wake = startTimeout;
    const time =
      deadline === null ? undefined : clock.setTimer?.(startTimeout, Math.max(0, deadline - clock.now()));
    const leave = (): void => {
      isLeft = true;
      time?.cancel();
      timeout?.cancel();
      unlisten();
      // Another wait of the run may have set its own `wake` meanwhile.
      if (run.wake === startTimeout) run.wake = undefined;
    };
    if (isOver === true || run.isStopped) startTimeout();
    answer.finally(leave).then(resolve, reject);
  });
}

function ignore(): void {}
