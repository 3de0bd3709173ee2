import type { Clock } from "@ravi/kernel";

/** Real time. Long waits use the server's timers; these timers are for graces and timeouts of tools. */
export const wallClock: Clock = Object.freeze({
  now: () => Date.now(),
  setTimer(callback: () => void, delayMs: number) {
    const timer = setTimeout(callback, Math.min(Math.max(0, delayMs), 2_147_483_647));
    return {
      cancel: () => clearTimeout(timer),
      ref: () => void timer.ref(),
      unref: () => void timer.unref(),
    };
  },
});
