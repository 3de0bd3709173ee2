import type { Clock } from "@ravi/kernel";

/** How long something has stood still. What stands still twice at once is counted once. */
export class Stillness {
  private readonly clock: Clock;
  private standing = 0;
  private since = 0;
  private passed = 0;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  get ms(): number {
    return this.standing === 0 ? this.passed : this.passed + this.clock.now() - this.since;
  }

  /** It stands still until the function that this returns is called, once. */
  standStill(): () => void {
    if (this.standing++ === 0) this.since = this.clock.now();
    return () => {
      this.passed = this.ms;
      this.since = this.clock.now();
      this.standing--;
    };
  }
}
