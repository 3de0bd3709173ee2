import {
  DeadlineExceededError,
  type HireOutcome,
  isPromiseLike,
  type JsonObject,
  type JsonValue,
} from "@ravi/kernel";
import { AskTimer } from "./ask-timer.ts";
import { usageIn, usageToJSON } from "./hire-record.ts";
import type { Hiring } from "./hiring.ts";
import type { InProcessEngine } from "./in-process.ts";
import { LATE } from "./recording.ts";

/** Makes a hire and waits until the child ends, the parent is stopped, or the time of the hire has run out. */
export function hireInTime(engine: InProcessEngine, hiring: Hiring): Promise<HireOutcome> {
  return new Promise((resolve, reject) => new HireWait(engine, hiring, resolve, reject).begin());
}

class HireWait {
  private readonly engine: InProcessEngine;
  private readonly hiring: Hiring;
  private readonly resolve: (outcome: HireOutcome) => void;
  private readonly reject: (error: unknown) => void;
  private unlisten: (() => void) | undefined;
  private timer: AskTimer | undefined;
  /** Whether the child is left to itself. It may end while that is being recorded, and a replay would not know which came first. */
  private isLeft = false;

  constructor(
    engine: InProcessEngine,
    hiring: Hiring,
    resolve: (outcome: HireOutcome) => void,
    reject: (error: unknown) => void,
  ) {
    this.engine = engine;
    this.hiring = hiring;
    this.resolve = resolve;
    this.reject = reject;
  }

  begin(): void {
    const { hiring } = this;
    // Until the child starts, `hiring` waits for its seat and ends that wait by itself.
    const ended = hiring.start(() => this.childBegan());
    ended.then(
      (outcome) => this.childEnded(outcome),
      (error: unknown) => {
        hiring.noteStop();
        this.fail(error);
      },
    );
  }

  private childBegan(): void {
    const { engine, hiring } = this;
    const { until } = hiring.times;
    // A suspension cancels the token as well; it is the reason that counts.
    this.unlisten = engine.token.onCancel((error) => this.fail(engine.suspension ?? error));
    if (until === null) return;
    if (this.wasLate) this.leave();
    else this.watchTime(until);
  }

  private childEnded(outcome: HireOutcome): void {
    this.hiring.noteEnd(outcome);
    if (this.isLeft) return;
    if (this.hiring.hasChild && this.wasLate) return this.leave();
    this.stopWaiting();
    this.resolve(outcome);
  }

  private watchTime(until: number): void {
    const { engine, hiring } = this;
    const { execId: child, timeoutMs = 0 } = hiring.spec;
    const asking = { child, timeoutMs, until: until + hiring.queuedMs };
    try {
      this.timer = new AskTimer(engine, asking, () => this.late());
      this.timer.start();
    } catch (error) {
      this.fail(error);
    }
  }

  private late(): void {
    const { hiring, timer } = this;
    const deadline = timer?.deadline ?? hiring.times.until ?? 0;
    timer?.cancel();
    if (hiring.spec.onTimeout === "leave") this.leave();
    else hiring.cancel(new DeadlineExceededError({ deadline }));
  }

  /** Whether it is on record that the child was late. Then a replay leaves it too, even if it is faster this time. */
  private get wasLate(): boolean {
    return this.engine.replay?.isRecorded(this.lateKey) === true;
  }

  private get lateKey(): string {
    return LATE + this.hiring.key;
  }

  /** Returns `timedOut` and lets the child run on. What it has used so far is recorded, so that a replay returns the same. */
  private leave(): void {
    const { engine, hiring } = this;
    this.isLeft = true;
    this.stopWaiting();
    const left = (used: JsonValue): void =>
      this.resolve({ status: "timedOut", handle: hiring.handle, ...usageIn(used as JsonObject) });
    try {
      const used = engine.recorder.fact(this.lateKey, () => usageToJSON(hiring.used));
      if (isPromiseLike(used)) used.then(left, this.reject);
      else left(used);
    } catch (error) {
      this.reject(error);
    }
  }

  private fail(error: unknown): void {
    this.stopWaiting();
    this.reject(error);
  }

  private stopWaiting(): void {
    this.unlisten?.();
    this.unlisten = undefined;
    this.timer?.cancel();
    this.timer = undefined;
  }
}
