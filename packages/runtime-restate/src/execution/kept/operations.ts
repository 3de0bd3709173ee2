import type { Operation } from "./steps.ts";

/** More than any agent takes that somebody waits for. They are in memory while the execution runs. */
const MOST_KEPT = 10_000;

/** What an execution has done so far. Of one that does more than can be kept, nothing is. */
export class KeptOperations {
  private all: Operation[] | undefined = [];
  private readonly most: number;

  constructor(most = MOST_KEPT) {
    this.most = most;
  }

  /** Undefined if they were too many. */
  get whole(): readonly Operation[] | undefined {
    return this.all;
  }

  add(operation: Operation): void {
    if (this.all !== undefined && this.all.length < this.most) this.all.push(operation);
    else this.all = undefined;
  }
}
