import type { Clock, TimerHandle } from "@ravi/kernel";

/** The longest delay of `setTimeout`; with a longer one it fires at once. */
const LONGEST_STEP_MS = 2 ** 31 - 1;

/** The time of the platform, with timers. */
export const wallClock: Clock = Object.freeze({
  now: () => Date.now(),
  setTimer(callback: () => void, delayMs: number): TimerHandle {
    let left = delayMs;
    let timer: NodeJS.Timeout;
    const wait = (): void => {
      const step = Math.min(left, LONGEST_STEP_MS);
      left -= step;
      timer = setTimeout(left > 0 ? wait : callback, step);
    };
    wait();
    return { cancel: () => clearTimeout(timer) };
  },
});
