import type { Clock, TimerHandle } from "@ravi/kernel";

/** A clock that always has timers. */
export interface TimerClock extends Clock {
  setTimer(callback: () => void, delayMs: number): TimerHandle;
}

/**
 * The longest delay of `setTimeout`; a longer one would fire at once. A timer that fires early does no harm: its owner checks the
 * clock again.
 */
const LONGEST_TIMER = 2 ** 31 - 1;

/**
 * Monotonic, unlike the time of day. Its timers keep the process alive, so each must be cancelled when it is not needed any more.
 */
const realClock: TimerClock = Object.freeze({
  now: () => performance.timeOrigin + performance.now(),
  setTimer,
});

function setTimer(callback: () => void, delayMs: number): TimerHandle {
  const timer = setTimeout(callback, Math.min(delayMs, LONGEST_TIMER));
  return { cancel: () => clearTimeout(timer) };
}

/** The given clock, with real timers if it has none. */
export function withTimers(clock: Clock | undefined): TimerClock {
  if (clock === undefined) return realClock;
  return {
    now: () => clock.now(),
    setTimer: (callback, delayMs) => clock.setTimer?.(callback, delayMs) ?? setTimer(callback, delayMs),
  };
}
