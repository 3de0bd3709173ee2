import type { CancellationError, Settled } from "@ravi/kernel";
import type { Stopped } from "../root/messages.ts";
import type { Attempt } from "./attempt.ts";
import { drive, type Steps } from "./steps.ts";

/** The one lane of an execution: one operation after the other, each with a number, which is the fence against zombies. */
export class Lane {
  /** Counts operations: an admission below the newest one is refused. */
  number = 0;
  private readonly attempt: Attempt;
  private busy: Promise<unknown> | undefined;

  constructor(attempt: Attempt) {
    this.attempt = attempt;
  }

  get isBusy(): boolean {
    return this.busy !== undefined;
  }

  /** One after the other, also where an agent ended in the middle of one: the journal knows only one await at a time. */
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

  /** An operation of one branch. */
  one<T>(make: (lane: number) => Steps<T>): Promise<T> {
    return this.operation((lane) => this.drove(make(lane)));
  }

  async drove<T>(steps: Steps<T>): Promise<T> {
    const [settled] = await this.drive([steps]);
    const { suspension } = this.attempt;
    if (suspension !== undefined) throw suspension;
    if (settled?.ok === true) return settled.value as T;
    throw settled?.error;
  }

  drive(branches: readonly Steps<unknown>[]): Promise<Settled[]> {
    const { attempt } = this;
    const heard = (stopped: Stopped | undefined): CancellationError | undefined => {
      attempt.hearStop({ stopped });
      return attempt.token.error;
    };
    return drive<Stopped>(branches, {
      promises: () => attempt.stops,
      heard,
      cancelled: () => heard({ reason: "cancelled at the server" }),
      already: () => (attempt.stops.length === 0 ? attempt.token.error : undefined),
    });
  }
}
