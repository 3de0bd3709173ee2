import {
  cancellationOf,
  checkFields,
  type AbortSignalLike,
  CancellationError,
  checkInteger,
  checkIntegerOrNull,
  checkOneOf,
  checkSignal,
  type Clock,
  InvalidValueError,
  type Limiter,
  type LimiterRequest,
  type MaybePromise,
  type Permit,
  Priority,
  type TimerHandle,
} from "@ravi/kernel";
import { onAbort } from "@ravi/kernel/loop";
import { checkClock } from "../clock-check.ts";
import { type Bucket, fill, fullBucket, take, waitFor } from "./bucket.ts";
import { FairQueue, type Place } from "./fair-queue.ts";
import { type TimerClock, withTimers } from "./timers.ts";

export interface FairPoolOptions {
  /** How many calls at once. Default: no limit. */
  readonly concurrency?: number | null | undefined;
  readonly requestsPerMinute?: number | null | undefined;
  readonly tokensPerMinute?: number | null | undefined;
  /** Without `setTimer` of its own it gets real timers. */
  readonly clock?: Clock | undefined;
  /** After this long a waiting BACKGROUND call takes part like a LOW one. Default 60,000. */
  readonly agingMs?: number | undefined;
}

/**
 * A server that has no more for today may say hours. Nobody tries again after that long, and those who ask another model meanwhile
 * are not to be held for it: from then on a call finds out.
 */
const LONGEST_HOLD_MS = 300_000;

const OPTIONS = [
  "concurrency",
  "requestsPerMinute",
  "tokensPerMinute",
  "clock",
  "agingMs",
] as const satisfies readonly (keyof FairPoolOptions)[];

const PRIORITIES = new Set(Object.values(Priority));

interface Waiter {
  readonly tokens: number;
  readonly grant: (permit: Permit) => void;
}

/**
 * One limit for all model calls of a tree, or of many: on calls at once, requests a minute and tokens a minute, shared by
 * priority (see `FairQueue`). A permit is given at once where there is room, otherwise it is a promise. A waiting call keeps
 * the process alive; an idle pool has no timer.
 */
export class FairPool implements Limiter {
  private readonly clock: TimerClock;
  private readonly concurrency: number;
  private readonly requests: Bucket | undefined;
  private readonly tokens: Bucket | undefined;
  private readonly queue: FairQueue<Waiter>;
  private running = 0;
  private closedUntil = -Infinity;
  private timer: TimerHandle | undefined;

  constructor(options: FairPoolOptions = {}) {
    // Whoever extends it may have options of its own.
    if (new.target === FairPool) checkFields("options", options, OPTIONS);
    this.clock = withTimers(checkClock(options.clock));
    this.concurrency = checkIntegerOrNull("concurrency", options.concurrency, 1) ?? Infinity;
    const now = this.clock.now();
    const requests = checkIntegerOrNull("requestsPerMinute", options.requestsPerMinute, 1);
    const tokens = checkIntegerOrNull("tokensPerMinute", options.tokensPerMinute, 1);
    this.requests = requests === null ? undefined : fullBucket(requests, now);
    this.tokens = tokens === null ? undefined : fullBucket(tokens, now);
    this.queue = new FairQueue(checkInteger("agingMs", options.agingMs ?? 60_000, 0));
  }

  /** How many hold a permit. */
  get active(): number {
    return this.running;
  }

  /** How many wait for one. */
  get waiting(): number {
    return this.queue.size;
  }

  acquire(request: LimiterRequest): MaybePromise<Permit> {
    if (typeof request !== "object" || request === null)
      throw new InvalidValueError({
        field: "request",
        value: request,
        expected: "{ priority, tokens?, signal? }",
      });
    const signal = checkSignal("signal", request.signal);
    const priority = PRIORITIES.has(request.priority)
      ? request.priority
      : checkOneOf("priority", request.priority, Priority);
    const tokens = this.checkTokens(request.tokens);
    if (signal?.aborted === true) throw cancellationOf(signal);
    // Whoever finds the queue empty and room for itself goes ahead; all others stand in line, for the order's sake.
    if (this.queue.size === 0 && this.delay(tokens, this.clock.now()) === 0) return this.start(tokens);
    return this.wait(priority, tokens, signal);
  }

  slowDown(retryAfterMs: number): void {
    if (!(typeof retryAfterMs === "number" && retryAfterMs >= 0 && Number.isFinite(retryAfterMs))) {
      throw new InvalidValueError({
        field: "retryAfterMs",
        value: retryAfterMs,
        expected: "milliseconds, at least 0",
      });
    }
    const until = this.clock.now() + Math.min(retryAfterMs, LONGEST_HOLD_MS);
    this.closedUntil = Math.max(this.closedUntil, until);
    this.pump();
  }

  private wait(priority: Priority, tokens: number, signal: AbortSignalLike | undefined): Promise<Permit> {
    return new Promise((resolve, reject) => {
      let unlisten: (() => void) | undefined;
      const leave = (): void => {
        this.queue.leave(place);
        reject(
          signal === undefined
            ? new CancellationError({ reason: "the wait was given up" })
            : cancellationOf(signal),
        );
        this.pump();
      };
      const grant = (permit: Permit): void => {
        unlisten?.();
        resolve(permit);
      };
      // What a line is charged is what is scarce: tokens where they are limited, calls otherwise.
      const cost = this.tokens === undefined ? 1 : Math.max(1, tokens);
      const place: Place<Waiter> = this.queue.add({ tokens, grant }, priority, cost, this.clock.now());
      if (signal !== undefined) unlisten = onAbort(signal, leave);
      this.pump();
    });
  }

  /** Lets in whoever may go now; where only time is missing, comes back at that time. */
  private pump(): void {
    this.timer?.cancel();
    this.timer = undefined;
    while (this.queue.size > 0) {
      const now = this.clock.now();
      // The first in line is waited for, whatever it needs: to pass it over for a smaller one would starve it.
      const place = this.queue.peek(now);
      if (place === undefined) return;
      const delay = this.delay(place.value.tokens, now);
      if (delay > 0) {
        if (delay !== Infinity) this.timer = this.clock.setTimer(() => this.pump(), delay);
        return;
      }
      this.queue.serve(place);
      place.value.grant(this.start(place.value.tokens));
    }
  }

  /** How long until a call of this size may start: 0 for now, `Infinity` until somebody gives a permit back. */
  private delay(tokens: number, now: number): number {
    if (this.running >= this.concurrency) return Infinity;
    let delay = Math.max(0, this.closedUntil - now);
    if (this.requests !== undefined) {
      fill(this.requests, now);
      delay = Math.max(delay, waitFor(this.requests, 1));
    }
    if (this.tokens !== undefined) {
      fill(this.tokens, now);
      delay = Math.max(delay, waitFor(this.tokens, tokens));
    }
    return delay;
  }

  private start(tokens: number): Permit {
    this.running++;
    if (this.requests !== undefined) take(this.requests, 1);
    if (this.tokens !== undefined) take(this.tokens, tokens);
    return new Held((actual) => {
      this.running--;
      if (this.tokens !== undefined && actual !== undefined) take(this.tokens, actual - tokens);
      this.pump();
    });
  }

  private checkTokens(tokens: number | undefined): number {
    if (tokens === undefined) return 0;
    checkInteger("tokens", tokens, 0);
    if (this.tokens === undefined || tokens <= this.tokens.perMinute) return tokens;
    throw new InvalidValueError({
      field: "tokens",
      value: tokens,
      expected: `at most ${this.tokens.perMinute}, all that tokensPerMinute lets through in a minute; such a call could never start: shorten it, lower maxOutputTokens or raise tokensPerMinute`,
    });
  }
}

class Held implements Permit {
  private end: ((tokens: number | undefined) => void) | undefined;

  constructor(end: (tokens: number | undefined) => void) {
    this.end = end;
  }

  release(actual?: { readonly tokens?: number | undefined }): void {
    const { end } = this;
    this.end = undefined;
    const tokens = actual?.tokens;
    const isWrong = tokens !== undefined && !(Number.isFinite(tokens) && tokens >= 0);
    // The place is given back whatever else is wrong.
    end?.(isWrong ? undefined : tokens);
    if (isWrong)
      throw new InvalidValueError({
        field: "actual.tokens",
        value: tokens,
        expected: "a number of at least 0",
      });
  }

  [Symbol.dispose](): void {
    this.release();
  }
}
