import type { Settled } from "@ravi/kernel";
import type { Attempt } from "./attempt.ts";
import { drive, type Steps } from "./steps.ts";

/**
 * The single lane of an execution: one operation after the other, each with a number. The number is also the fence against attempts
 * that are over but still run.
 */
export class Lane {
  /** The number of the current operation. The root refuses an admission with a lower number than the newest one. */
  number: number;
  private readonly attempt: Attempt;
  private busy: Promise<unknown> | undefined;

  constructor(attempt: Attempt) {
    this.attempt = attempt;
    // An earlier invocation of the execution may still run somewhere, and is refused too.
    this.number = attempt.before?.lane ?? 0;
  }

  get isBusy(): boolean {
    return this.busy !== undefined;
  }

  /**
   * Runs operations one after the other, even if the agent ended in the middle of one: the journal allows only one await at a time.
   */
  async operation<T>(act: (lane: number) => Promise<T>): Promise<T> {
    while (this.busy !== undefined) await this.busy.catch(() => {});
    const running = act(++this.number);
    this.busy = running;
    try {
      return await running;
    } finally {
      this.busy = undefined;
    }
  }

  /** Runs an operation with one branch. */
  one<T>(make: (lane: number) => Steps<T>): Promise<T> {
    return this.operation((lane) => this.driveOne(make(lane)));
  }

  /** Drives one branch to its end. Throws its error, or the suspension. */
  async driveOne<T>(steps: Steps<T>): Promise<T> {
    const [settled] = await this.drive([steps]);
    const { suspension } = this.attempt;
    if (suspension !== undefined) throw suspension;
    if (settled?.ok === true) return settled.value as T;
    throw settled?.error;
  }

  /** Drives several branches to their ends. Never rejects because of a branch. */
  drive(branches: readonly Steps<unknown>[]): Promise<Settled[]> {
    const { attempt } = this;
    return drive(branches, {
      promises: () => (attempt.bell === undefined ? attempt.stops : [...attempt.stops, attempt.bell]),
      onMail: () => attempt.learnMail(true, undefined),
      onStop: (stopped) => {
        attempt.applyStop({ stopped });
        return attempt.token.error;
      },
      stoppedBefore: () => (attempt.stops.length === 0 ? attempt.token.error : undefined),
    });
  }
}
