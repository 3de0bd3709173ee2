import type { Clock } from "@ravi/kernel";

/**
 * The time of the platform, with timers. A plain `setTimeout` is enough, since a session waits for minutes at most (before a
 * retry).
 */
export const wallClock: Clock = Object.freeze({
  now: () => Date.now(),
  setTimer(callback: () => void, delayMs: number) {
    const timer = setTimeout(callback, delayMs);
    return { cancel: () => clearTimeout(timer) };
  },
});
