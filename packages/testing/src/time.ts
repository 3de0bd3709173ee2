import type { AbortSignalLike, Clock, TimerHandle } from "@ravi/kernel";
import { abortable } from "@ravi/kernel/loop";

/** A clock that always has timers. */
export interface TimerClock extends Clock {
  setTimer(callback: () => void, delayMs: number): TimerHandle;
}

/** With a longer delay, `setTimeout` fires at once. */
const LONGEST_TIMEOUT_MS = 2_147_483_647;

/** The given clock, with real timers if it has none of its own. */
export function withTimers(clock: Clock | undefined): TimerClock {
  return {
    now: () => clock?.now() ?? Date.now(),
    setTimer: (callback, delayMs) => clock?.setTimer?.(callback, delayMs) ?? realTimer(callback, delayMs),
  };
}

function realTimer(callback: () => void, delayMs: number): TimerHandle {
  const timer = setTimeout(callback, Math.min(delayMs, LONGEST_TIMEOUT_MS));
  return { cancel: () => clearTimeout(timer) };
}

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
