import type { Clock, TimerHandle } from "../core/clock.ts";

/** The platform's timers. `globalThis` has this shape. */
export interface PlatformTimers {
  setTimeout(callback: () => void, delayMs: number): unknown;
  clearTimeout(timer: unknown): void;
}

/** A clock that always has timers. */
export interface TimerClock extends Clock {
  setTimer(callback: () => void, delayMs: number): TimerHandle;
}

/** The clock, with the platform's timers if it has none of its own: a timeout must end what it is for in any case. */
export function withTimers(clock: Clock, timers: PlatformTimers): TimerClock {
  return {
    now: () => clock.now(),
    setTimer: (callback, delayMs) =>
      clock.setTimer === undefined
        ? platformTimer(timers, callback, delayMs)
        : clock.setTimer(callback, delayMs),
  };
}

/** With a longer delay, `setTimeout` fires at once. So it is waited for in steps. */
const LONGEST_STEP_MS = 2 ** 31 - 1;

function platformTimer(timers: PlatformTimers, callback: () => void, delayMs: number): TimerHandle {
  let left = delayMs;
  let timer: unknown;
  const wait = (): void => {
    const step = Math.min(left, LONGEST_STEP_MS);
    left -= step;
    timer = timers.setTimeout(left > 0 ? wait : callback, step);
  };
  wait();
  return { cancel: () => timers.clearTimeout(timer) };
}
