import type { Clock, TimerHandle } from "@ravi/kernel";
import { eventLoopTurn, type Stoppable, timer } from "./waiting.ts";

/** What it needs of the run. */
interface Draining {
  readonly ports: { readonly clock: Clock };
  readonly callsUnderWay: number;
  readonly isEnding: boolean;
}

/**
 * Lets the calls of a run that are under way end, so that nobody has to pay for or decide on them again, and none begin, before the run is
 * suspended. One that has come to its end may do what is left, such as keeping its history. It waits for so many milliseconds at most.
 */
export class Drain {
  private readonly run: Draining;
  private readonly suspend: () => void;
  private readonly timer: TimerHandle;

  constructor(run: Draining, graceMs: number, suspend: () => void) {
    this.run = run;
    this.suspend = suspend;
    this.timer = timer(run.ports.clock, suspend, graceMs);
    this.callEnded();
  }

  /** A promise for a call that may not begin: it rejects when the run is stopped. */
  hold(engine: Stoppable): Promise<never> {
    return new Promise((_, reject) => {
      engine.token.onCancel((error) => reject(engine.suspension ?? error));
    });
  }

  callEnded(): void {
    if (this.run.callsUnderWay === 0) void this.suspendUnlessBusy();
  }

  close(): void {
    this.timer.cancel();
  }

  /** With the answer of its last call, an agent may have come to its end: then the run completes. */
  private async suspendUnlessBusy(): Promise<void> {
    await eventLoopTurn();
    const { callsUnderWay, isEnding } = this.run;
    if (callsUnderWay === 0 && !isEnding) this.suspend();
  }
}
