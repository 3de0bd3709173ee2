import { type CancellationToken, type Clock, DeadlineExceededError, type TimerHandle } from "@ravi/kernel";
import type { ExecRecording } from "./recording.ts";

/** How long after its deadline an execution may take to catch up with its record. */
export const CATCH_UP_MS = 10_000;

export interface DeadlineOptions {
  readonly clock: Clock;
  readonly token: CancellationToken;
  /** Epoch milliseconds. */
  readonly deadline: number | null;
  readonly recording: ExecRecording | undefined;
}

/**
 * Cancels the token at the deadline, so that a call that hangs is aborted. An execution that is being resumed first catches up with its
 * record, which was done in time and costs nothing. Returns a function that removes the deadline.
 */
export function armDeadline(options: DeadlineOptions): () => void {
  // `arm` is a function of its own, so that executions without a deadline, which are most, allocate nothing for its closures.
  return options.deadline === null ? noop : arm(options, options.deadline);
}

function arm({ clock, token, recording }: DeadlineOptions, deadline: number): () => void {
  let timer: TimerHandle | undefined;
  const cancel = (): void => token.cancel(new DeadlineExceededError({ deadline }));
  const fire = (): void => {
    if (recording === undefined || recording.isCaughtUp) return cancel();
    timer = clock.setTimer?.(cancel, CATCH_UP_MS);
    recording.onCaughtUp = () => {
      timer?.cancel();
      // With a timer, so that the agent gets its last recorded result before it is cancelled.
      timer = clock.setTimer?.(cancel, 0);
    };
  };
  timer = clock.setTimer?.(fire, Math.max(0, deadline - clock.now()));
  return () => {
    timer?.cancel();
    if (recording !== undefined) recording.onCaughtUp = undefined;
  };
}

function noop(): void {}
