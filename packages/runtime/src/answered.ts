import { type Clock, JournalFailedError, type TimerHandle } from "@ravi/kernel";
import { JOURNAL_PATIENCE_MS } from "./engine/run-journal.ts";
import { turnOfLoop } from "./engine/waiting.ts";
import type { Underway } from "./underway.ts";

export interface Asked<T> {
  /** The operation of the journal, for the error message. */
  readonly what: string;
  readonly run: Underway;
  readonly clock: Clock;
  /** The run's deadline, if nothing else watches it yet. */
  readonly deadline?: number | null;
  /** The outcome of the run is known: the journal gets only its last second, whether or not the run was stopped. */
  readonly isOver?: boolean | undefined;
  /** Gets an answer that comes after the wait was given up. */
  readonly onLate?: ((value: T) => void) | undefined;
}

/**
 * Waits for an answer of the run's journal outside its agents, which have their own time limit. T4: if the run is stopped and the
 * journal does not answer within `JOURNAL_PATIENCE_MS`, it rejects with a `JournalFailedError`.
 */
export function answered<T>(
  asked: PromiseLike<T>,
  { what, run, clock, deadline = null, isOver, onLate = ignore }: Asked<T>,
): Promise<T> {
  const answer = Promise.resolve(asked);
  return new Promise((resolve, reject) => {
    let patience: TimerHandle | undefined;
    let isLeft = false;
    const giveUp = (): void => {
      if (isLeft) return;
      leave();
      answer.then(onLate, ignore);
      const cause = new Error(`no answer within ${JOURNAL_PATIENCE_MS} ms after the run was stopped`);
      reject(new JournalFailedError({ what: `journal.${what} for run ${run.runId}`, final: true, cause }));
    };
    const lookAgain = (): void => void turnOfLoop().then(giveUp);
    const losePatience = (): void => void (patience ??= clock.setTimer?.(lookAgain, JOURNAL_PATIENCE_MS));
    const unlisten = run.token.onCancel(losePatience);
    run.wake = losePatience;
    const time =
      deadline === null ? undefined : clock.setTimer?.(losePatience, Math.max(0, deadline - clock.now()));
    const leave = (): void => {
      isLeft = true;
      time?.cancel();
      patience?.cancel();
      unlisten();
      // Another wait of the run may have set its own `wake` meanwhile.
      if (run.wake === losePatience) run.wake = undefined;
    };
    if (isOver === true || run.isStopped) losePatience();
    answer.finally(leave).then(resolve, reject);
  });
}

function ignore(): void {}
