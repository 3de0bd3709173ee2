import {
  DeadlineExceededError,
  type HireOutcome,
  isPromiseLike,
  type JsonObject,
  type JsonValue,
  type TimerHandle,
} from "@ravi/kernel";
import { usageIn, usageToJSON } from "./hire-record.ts";
import type { Hiring } from "./hiring.ts";
import type { InProcessEngine } from "./in-process.ts";
import { LATE } from "./recording.ts";
import { timer } from "./waiting.ts";

/** A parent that waits for a child: until the child ends, the parent is stopped, or the time of the hire is up. */
export function hireInTime(engine: InProcessEngine, hiring: Hiring): Promise<HireOutcome> {
  return new Promise((resolve, reject) => new Patience(engine, hiring, resolve, reject).begin());
}

class Patience {
  private readonly engine: InProcessEngine;
  private readonly hiring: Hiring;
  private readonly resolve: (outcome: HireOutcome) => void;
  private readonly reject: (error: unknown) => void;
  private unlisten: (() => void) | undefined;
  private clock: TimerHandle | undefined;

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
    // Before there is a child, a seat is waited for: that is given up by whoever gives seats.
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
    // A suspension cancels the token too, and is the reason that counts.
    this.unlisten = engine.token.onCancel((error) => this.fail(engine.suspension ?? error));
    if (until === null) return;
    if (this.wasLate) this.leave();
    else this.watchTime(until);
  }

  private childEnded(outcome: HireOutcome): void {
    this.hiring.noteEnd(outcome);
    if (this.hiring.hasChild && this.wasLate) return this.leave();
    this.stopWaiting();
    this.resolve(outcome);
  }

  /** Time in which the child had no seat does not count: what it was parked is waited for in addition. */
  private watchTime(until: number): void {
    const { engine, hiring } = this;
    const left = until + hiring.parkedMs - engine.clock.now();
    try {
      if (left > 0) this.clock = timer(engine.clock, () => this.watchTime(until), left);
      else if (hiring.spec.onTimeout === "leave") this.leave();
      else hiring.cancel(new DeadlineExceededError({ deadline: until }));
    } catch (error) {
      this.fail(error);
    }
  }

  /** It is on record that the child was late, so it was, however fast it is this time. */
  private get wasLate(): boolean {
    const { engine } = this;
    return engine.tree.recording !== undefined && engine.recorder.isRecorded(this.late);
  }

  private get late(): string {
    return LATE + this.hiring.key;
  }

  /** Goes on without the child. What it has used until then is on record with it, so that a replay says the same. */
  private leave(): void {
    const { engine, hiring } = this;
    this.stopWaiting();
    const left = (used: JsonValue): void =>
      this.resolve({ status: "timedOut", handle: hiring.handle, ...usageIn(used as JsonObject) });
    try {
      const used = engine.recorder.fact(this.late, () => usageToJSON(hiring.used));
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
    this.clock?.cancel();
    this.clock = undefined;
  }
}
