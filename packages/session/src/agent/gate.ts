import { SessionBusyError } from "../errors.ts";

export type SessionPhase = "idle" | "turn" | "compaction";

/** Lets one thing happen at a time. */
export class Gate {
  phase: SessionPhase = "idle";
  private waiters: (() => void)[] = [];

  get isIdle(): boolean {
    return this.phase === "idle";
  }

  assertIdle(operation: string): void {
    if (!this.isIdle) throw new SessionBusyError({ operation, phase: this.phase });
  }

  whenIdle(): Promise<void> {
    return this.isIdle ? Promise.resolve() : new Promise((resolve) => this.waiters.push(resolve));
  }

  /** The phase is set before the first await, and restored whatever happens. */
  async exclusively<T>(operation: string, phase: SessionPhase, work: () => Promise<T>): Promise<T> {
    this.assertIdle(operation);
    this.phase = phase;
    try {
      return await work();
    } finally {
      this.phase = "idle";
      const { waiters } = this;
      this.waiters = [];
      for (const resolve of waiters) resolve();
    }
  }
}
