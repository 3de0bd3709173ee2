import type { Clock, TimerHandle } from "@ravi/kernel";

/** Real time, with timers. A timer keeps the process alive until it fires or is cancelled; `unref` changes that. */
export const wallClock: Clock & Required<Pick<Clock, "setTimer">> = Object.freeze({
  now: () => Date.now(),
  setTimer: (callback: () => void, delayMs: number) => new WallTimer(callback, delayMs),
});

/** `setTimeout` fires at once if the delay is above 2^31 − 1 ms. Longer delays are waited for in steps. */
const LONGEST_STEP_MS = 2_147_483_647;

/** A browser's is a number, which has neither. */
type PlatformTimer = NodeJS.Timeout | (number & { readonly ref?: undefined; readonly unref?: undefined });

class WallTimer implements TimerHandle {
  private readonly callback: () => void;
  private left: number;
  private timer: PlatformTimer;
  private isRef = true;

  constructor(callback: () => void, delayMs: number) {
    this.callback = callback;
    this.left = Math.max(0, delayMs);
    this.timer = this.step();
  }

  cancel(): void {
    clearTimeout(this.timer);
  }

  ref(): void {
    this.isRef = true;
    this.timer.ref?.();
  }

  unref(): void {
    this.isRef = false;
    this.timer.unref?.();
  }

  private step(): PlatformTimer {
    const next = Math.min(this.left, LONGEST_STEP_MS);
    this.left -= next;
    return setTimeout(fire, next, this);
  }

  /** Called after each step. Starts the next one, or calls the callback. */
  fire(): void {
    if (this.left === 0) return this.callback();
    this.timer = this.step();
    if (!this.isRef) this.timer.unref?.();
  }
}

function fire(timer: WallTimer): void {
  timer.fire();
}
