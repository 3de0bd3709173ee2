import type { Clock } from "@ravi/kernel";

/** The platform's time, with timers. A timer keeps the process alive until it fires or is cancelled. */
export const wallClock: Clock & Required<Pick<Clock, "setTimer">> = Object.freeze({
  now: () => Date.now(),
  setTimer(callback: () => void, delayMs: number) {
    let timer = setTimeout(fire, step(delayMs));
    let left = delayMs - step(delayMs);
    function fire(): void {
      if (left <= 0) return callback();
      const next = step(left);
      left -= next;
      timer = setTimeout(fire, next);
    }
    return {
      cancel: () => clearTimeout(timer),
      ref: () => void timer.ref(),
      unref: () => void timer.unref(),
    };
  },
});

/** `setTimeout` counts to 2^31 − 1 and fires at once beyond it; days and weeks are waited for in steps. */
function step(delayMs: number): number {
  return Math.min(Math.max(0, delayMs), 2_147_483_647);
}
