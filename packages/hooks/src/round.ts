import { type HookEvent, isPromiseLike, type TimerHandle } from "@ravi/kernel";
import type { Subscription } from "./listener.ts";
import type { Problems } from "./problems.ts";
import type { SetTimer } from "./timers.ts";

/** One dispatch: which of its listeners are still at work. */
export class Round {
  private readonly event: HookEvent;
  private readonly problems: Problems;
  /** Made for the first asynchronous listener. Every listener is in it at most once. */
  private open: Set<Subscription> | undefined;
  private ended: (() => void) | undefined;

  constructor(event: HookEvent, problems: Problems) {
    this.event = event;
    this.problems = problems;
  }

  get isOpen(): boolean {
    return this.open !== undefined && this.open.size > 0;
  }

  /** Only for a round that is open. */
  onEnd(callback: () => void): void {
    this.ended = callback;
  }

  /** Waits for what a listener returned: a promise, or something that only looks like one. */
  watch(owner: Subscription, result: PromiseLike<unknown>): void {
    (this.open ??= new Set()).add(owner);
    owner.pending++;
    const done = (): void => void this.close(owner);
    const failed = (error: unknown): void => {
      if (!this.close(owner)) return;
      const { event } = this;
      this.problems.tell({
        kind: "failed",
        event,
        callback: owner.callback,
        what: "failed",
        thrown: { error },
      });
    };
    try {
      const after: unknown = result.then(done, failed);
      // An `async then()` of somebody's own throws into what it returns, where nobody would look.
      if (!(result instanceof Promise) && isPromiseLike(after)) after.then(undefined, failed);
    } catch (error) {
      failed(error);
    }
  }

  /** Gives up on all that are still at work. */
  cutOff(timeoutMs: number): void {
    const { event } = this;
    for (const owner of this.open ?? []) {
      this.close(owner);
      if (owner.toldHung) continue;
      owner.toldHung = true;
      const what = `did not end within ${timeoutMs} ms and is no longer waited for (told once)`;
      this.problems.tell({ kind: "hung", event, callback: owner.callback, what });
    }
  }

  /** False when it was closed before: a thenable may call back twice, and a hung one late. */
  private close(owner: Subscription): boolean {
    if (this.open?.delete(owner) !== true) return false;
    owner.pending--;
    if (this.open.size === 0) this.end();
    return true;
  }

  /** A promise that never settles holds on to this round for ever, so it keeps nothing of what it held. */
  private end(): void {
    const { ended } = this;
    this.open = undefined;
    this.ended = undefined;
    ended?.();
  }
}

/** The rounds that are still open, each with the timer that ends it. */
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

  drain(): Promise<void> | undefined {
    if (this.waiting.size === 0) return undefined;
    // Somebody waits now, so the process has to live until the last of them is over.
    for (const timer of this.waiting.values()) timer.ref?.();
    return Promise.all(this.waiting.keys()).then(() => {});
  }
}
