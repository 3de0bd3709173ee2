import type { Clock } from "@ravi/kernel";

/** The platform's time, with timers: what a session waits for (a retry) is minutes at most. */
export const wallClock: Clock = Object.freeze({
  now: () => Date.now(),
  setTimer(callback: () => void, delayMs: number) {
    const timer = setTimeout(callback, delayMs);
    return { cancel: () => clearTimeout(timer) };
  },
});
