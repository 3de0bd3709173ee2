import type { Clock } from "@ravi/kernel";

/** The platform's time. Long waits are the server's timers; these are for graces and time-outs of tools. */
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
