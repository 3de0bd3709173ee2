import { type HookEvent, isPromiseLike, type TimerHandle } from "@ravi/kernel";
import type { Subscription } from "./listener.ts";
import type { ProblemReporter } from "./problem-reporter.ts";
import type { SetTimer } from "../common/timers.ts";

/** One dispatch, and which of its listeners are still running. */
export class Round {
  private readonly event: HookEvent;
  private readonly problems: ProblemReporter;
  /** Created with the first asynchronous listener. Each listener is in it at most once. */
  private open: Set<Subscription> | undefined;
  private ended: (() => void) | undefined;

  constructor(event: HookEvent, problems: ProblemReporter) {
    this.event = event;
    this.problems = problems;
  }

  get isOpen(): boolean {
    return this.open !== undefined && this.open.size > 0;
  }

  /** Call it only while the round is open. */
  onEnd(callback: () => void): void {
    this.ended = callback;
  }

  /** Waits for what a listener returned: a promise or another thenable. */
  watch(owner: Subscription, result: PromiseLike<unknown>, runId: string | undefined): void {
    (this.open ??= new Set()).add(owner);
    owner.pending++;
    const done = (): void => void this.close(owner);
    const failed = (error: unknown): void => {
      if (this.close(owner)) this.problems.failed(this.event, owner.callback, error, runId);
    };
    try {
      const after: unknown = result.then(done, failed);
      // A custom thenable with an async `then()` reports its failure through the promise that `then()` returns. Handle that one
      // too.
      if (!(result instanceof Promise) && isPromiseLike(after)) after.then(undefined, failed);
    } catch (error) {
      failed(error);
    }
  }

  /** Stops waiting for all listeners that are still running. Each listener is reported once. */
  cutOff(timeoutMs: number): void {
    const { event } = this;
    for (const owner of this.open ?? []) {
      this.close(owner);
      if (owner.wasReportedHung) continue;
      owner.wasReportedHung = true;
      const what = `did not finish within ${timeoutMs} ms and is no longer waited for (reported once)`;
      this.problems.report({ kind: "hung", event, callback: owner.callback, what });
    }
  }

  /** False if it was closed before: a thenable may call back twice, and a hung listener may finish late. */
  private close(owner: Subscription): boolean {
    if (this.open?.delete(owner) !== true) return false;
    owner.pending--;
    if (this.open.size === 0) this.end();
    return true;
  }

  /** A promise that never settles keeps this round alive for ever, so the round lets go of everything it held. */
  private end(): void {
    const { ended } = this;
    this.open = undefined;
    this.ended = undefined;
    ended?.();
  }
}

/** The rounds that are still open, each with the timer that cuts it off. */
export class OpenRounds {
  private readonly waiting = new Map<Promise<void>, TimerHandle>();
  private readonly setTimer: SetTimer;
  private readonly timeoutMs: number;

  constructor(setTimer: SetTimer, timeoutMs: number) {
    this.setTimer = setTimer;
    this.timeoutMs = timeoutMs;
  }

  /** Resolves when the round is over, at the latest when it is cut off. */
  follow(round: Round): Promise<void> {
    const { timeoutMs, waiting } = this;
    const timer = this.setTimer(() => round.cutOff(timeoutMs), timeoutMs);
    const { promise, resolve } = Promise.withResolvers<void>();
    waiting.set(promise, timer);
    round.onEnd(() => {
      timer.cancel();
      waiting.delete(promise);
      resolve();
    });
    return promise;
  }

  /** Resolves when all open rounds are over; undefined if there is none. */
  drain(): Promise<void> | undefined {
    if (this.waiting.size === 0) return undefined;
    // The caller waits now, so the timers must keep the process alive until the last round is over.
    for (const timer of this.waiting.values()) timer.ref?.();
    return Promise.all(this.waiting.keys()).then(() => {});
  }
}
