import { type Clock, JournalFailedError, type TimerHandle } from "@ravi/kernel";
import { JOURNAL_PATIENCE_MS } from "./engine/run-journal.ts";
import { turnOfLoop } from "./engine/waiting.ts";
import type { Underway } from "./underway.ts";

export interface Asked<T> {
  /** What the journal is to do, for the error. */
  readonly what: string;
  readonly run: Underway;
  readonly clock: Clock;
  /** When the run is out of time, where nobody else watches that yet. */
  readonly deadline?: number | null;
  /** What comes of the run is known: the journal is waited for no longer, stopped or not. */
  readonly isOver?: boolean | undefined;
  /** Takes what comes when nobody waits for it any more. */
  readonly onLate?: ((value: T) => void) | undefined;
}

/**
 * What a run's journal was asked for, outside of its agents: those are left behind by themselves. T4: where the run is stopped and the
 * journal says nothing for so long, it has failed.
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
      const cause = new Error(
        `the journal has not answered for ${JOURNAL_PATIENCE_MS} ms after the run was stopped`,
      );
      reject(new JournalFailedError({ what: `${run.runId}: ${what}`, final: true, cause }));
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
      // Another wait of the run may be under way when this one is answered late.
      if (run.wake === losePatience) run.wake = undefined;
    };
    if (isOver === true || run.isStopped) losePatience();
    answer.finally(leave).then(resolve, reject);
  });
}

function ignore(): void {}
