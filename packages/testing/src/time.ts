import type { AbortSignalLike, TimerHandle } from "@ravi/kernel";
import { abortable, type TimerClock } from "@ravi/kernel/loop";

/**
 * Resolves after `delayMs`, or never if that is Infinity. Rejects with a `CancellationError` if the signal aborts first. It
 * leaves no timer and no listener behind.
 */
export function wait(clock: TimerClock, delayMs: number, signal: AbortSignalLike | undefined): Promise<void> {
  let timer: TimerHandle | undefined;
  const due = new Promise<void>((resolve) => {
    if (delayMs < Infinity) timer = clock.setTimer(resolve, delayMs);
  });
  return abortable(due, signal).finally(() => timer?.cancel());
}
