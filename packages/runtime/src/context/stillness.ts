import type { Clock } from "@ravi/kernel";

/**
 * How long something has stood still: the time in which a part of it waits, and no part of it is under way. What waits for money that is
 * reserved for another part must not stop the clock of both.
 */
export class Stillness {
  private readonly clock: Clock;
  private waiting = 0;
  private moving = 0;
  private since = 0;
  private passed = 0;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  get ms(): number {
    return this.waiting > 0 && this.moving === 0 ? this.passed + this.clock.now() - this.since : this.passed;
  }

  /** A part of it waits until the function that this returns is called, once. */
  standStill(): () => void {
    this.change(1, 0);
    return () => this.change(-1, 0);
  }

  /** A part of it is under way until the function that this returns is called, once. */
  move(): () => void {
    this.change(0, 1);
    return () => this.change(0, -1);
  }

  private change(waiting: number, moving: number): void {
    this.passed = this.ms;
    this.since = this.clock.now();
    this.waiting += waiting;
    this.moving += moving;
  }
}
