import { type CancellationToken, type Clock, DeadlineExceededError, type TimerHandle } from "@ravi/kernel";
import type { ExecRecording } from "./recording.ts";

/** How long an execution that is late may take to catch up with its record, before it is late all the same. */
const CATCH_UP_MS = 10_000;

export interface DeadlineOptions {
  readonly clock: Clock;
  readonly token: CancellationToken;
  /** Epoch milliseconds. */
  readonly deadline: number | null;
  readonly recording: ExecRecording | undefined;
}

/**
 * Cancels the token when the time comes, so that a call that hangs is aborted and not only noticed. What is on record was done
 * in time: it is caught up with first, and costs nothing. Returns how to take the deadline off.
 */
export function armDeadline(options: DeadlineOptions): () => void {
  // Most have none, and what closures hold is made with the call of the function that they are written in.
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
      // The last recorded result is handed over first; what comes after it is late.
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
