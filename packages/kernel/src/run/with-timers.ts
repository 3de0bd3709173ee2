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
        ? new PlatformTimer(timers, callback, delayMs)
        : clock.setTimer(callback, delayMs),
  };
}

/** With a longer delay, `setTimeout` fires at once. So it is waited for in steps. */
const LONGEST_STEP_MS = 2 ** 31 - 1;

/** Of Node. A browser's is a number, which has neither. */
type StartedTimer = { ref?(): unknown; unref?(): unknown } | undefined;

/** Keeps the process alive until it fires or is cancelled; `unref` changes that, also for the steps to come. */
class PlatformTimer implements TimerHandle {
  private readonly timers: PlatformTimers;
  private readonly callback: () => void;
  private left: number;
  private isRef = true;
  private timer: StartedTimer;

  constructor(timers: PlatformTimers, callback: () => void, delayMs: number) {
    this.timers = timers;
    this.callback = callback;
    this.left = Math.max(0, delayMs);
    this.timer = this.step();
  }

  cancel(): void {
    this.timers.clearTimeout(this.timer);
  }

  ref(): void {
    this.isRef = true;
    this.timer?.ref?.();
  }

  unref(): void {
    this.isRef = false;
    this.timer?.unref?.();
  }

  private step(): StartedTimer {
    const step = Math.min(this.left, LONGEST_STEP_MS);
    this.left -= step;
    return this.timers.setTimeout(() => this.fire(), step) as StartedTimer;
  }

  private fire(): void {
    if (!(this.left > 0)) return this.callback();
    this.timer = this.step();
    if (!this.isRef) this.timer?.unref?.();
  }
}
