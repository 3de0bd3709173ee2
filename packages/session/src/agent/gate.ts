import { SessionBusyError } from "../errors.ts";

/** What a session is doing. */
export type SessionPhase = "idle" | "turn" | "compaction";

/** Lets only one operation run at a time. */
export class Gate {
  phase: SessionPhase = "idle";
  private waiters: (() => void)[] = [];

  get isIdle(): boolean {
    return this.phase === "idle";
  }

  /** Throws a `SessionBusyError` if something is running. */
  assertIdle(operation: string): void {
    if (!this.isIdle) throw new SessionBusyError({ operation, phase: this.phase });
  }

  /** Resolves when nothing is running. */
  whenIdle(): Promise<void> {
    return this.isIdle ? Promise.resolve() : new Promise((resolve) => this.waiters.push(resolve));
  }

  /** Runs `work` alone, or throws a `SessionBusyError` at once. The phase is set before the first await and is always reset. */
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
