import type { TimerHandle } from "../core/clock.ts";

/**
 * While something stands still, nobody tells when it goes on. So its limit is looked at again after this part of its time at the earliest,
 * and by as much it may be late.
 */
const LEAST_PART = 0.01;

export interface TimeLimitOptions {
  readonly limitMs: number;
  readonly setTimer: (callback: () => void, delayMs: number) => TimerHandle;
  /** For how many milliseconds it has stood still so far. That time does not count. */
  readonly stoodMs: () => number;
  readonly onTime: () => void;
}

/** Calls back once, when so much time has passed without that in which something stood still. */
export class TimeLimit {
  private readonly options: TimeLimitOptions;
  private stood: number;
  private timer: TimerHandle;

  constructor(options: TimeLimitOptions) {
    this.options = options;
    this.stood = options.stoodMs();
    this.timer = this.lookAfter(options.limitMs);
  }

  cancel(): void {
    this.timer.cancel();
  }

  private lookAfter(delayMs: number): TimerHandle {
    return this.options.setTimer(() => this.look(delayMs), delayMs);
  }

  private look(passedMs: number): void {
    const { stoodMs, limitMs, onTime } = this.options;
    const stood = stoodMs();
    // No longer than the timer has run, if the clock was put forward or the computer has slept meanwhile.
    const moreMs = Math.min(stood - this.stood, passedMs);
    this.stood = stood;
    if (moreMs > 0) this.timer = this.lookAfter(Math.max(moreMs, limitMs * LEAST_PART));
    else onTime();
  }
}
