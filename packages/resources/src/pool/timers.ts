import type { Clock, TimerHandle } from "@ravi/kernel";

/** A clock whose timers really fire. */
export interface TimerClock extends Clock {
  setTimer(callback: () => void, delayMs: number): TimerHandle;
}

/** What `setTimeout` takes at most; more would fire at once. Whoever set the timer looks at the clock again. */
const LONGEST_TIMER = 2 ** 31 - 1;

/** Never goes back, unlike the time of day. A timer keeps the process alive, so nobody may leave one behind. */
const realClock: TimerClock = Object.freeze({
  now: () => performance.timeOrigin + performance.now(),
  setTimer,
});

function setTimer(callback: () => void, delayMs: number): TimerHandle {
  const timer = setTimeout(callback, Math.min(delayMs, LONGEST_TIMER));
  return { cancel: () => clearTimeout(timer) };
}

/** The given clock, with real timers where it has none. */
export function withTimers(clock: Clock | undefined): TimerClock {
  if (clock === undefined) return realClock;
  return {
    now: () => clock.now(),
    setTimer: (callback, delayMs) => clock.setTimer?.(callback, delayMs) ?? setTimer(callback, delayMs),
  };
}
