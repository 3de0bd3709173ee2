import {
  cancellationOf,
  checkFields,
  type AbortSignalLike,
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
import { checkPort, onAbort, type TimerClock, withTimers } from "@ravi/kernel/loop";
import { type Bucket, fill, fullBucket, take, waitFor } from "./parts/bucket.ts";
import { FairQueue } from "./parts/fair-queue.ts";

export interface FairPoolOptions {
  /** How many calls may run at once. Default: no limit. */
  readonly concurrency?: number | null | undefined;
  /** How many calls may start per minute; a minute's worth may start at once. Default: no limit. */
  readonly requestsPerMinute?: number | null | undefined;
  /** How many tokens calls may use per minute; a minute's worth may be used at once. Default: no limit. */
  readonly tokensPerMinute?: number | null | undefined;
  /** Without a `setTimer`, real timers are used. Default: the system's monotonic clock. */
  readonly clock?: Clock | undefined;
  /** After waiting this many milliseconds, a BACKGROUND call is treated like a LOW one. Default: 60,000. */
  readonly agingMs?: number | undefined;
}

/**
 * The longest pause that `slowDown` accepts. A server whose daily quota is used up may ask for hours; nobody would wait that long, and
 * calls to other models that share the pool must not be held. After the pause, the next call finds out whether it is over.
 */
const LONGEST_HOLD_MS = 300_000;

const OPTIONS = [
  "concurrency",
  "requestsPerMinute",
  "tokensPerMinute",
  "clock",
  "agingMs",
] as const satisfies readonly (keyof FairPoolOptions)[];

/** Unlike the time of day, it never goes backwards. */
const MONOTONIC: Clock = Object.freeze({ now: () => performance.timeOrigin + performance.now() });

const PRIORITIES = new Set(Object.values(Priority));

interface Waiter {
  readonly tokens: number;
  readonly grant: (permit: Permit) => void;
}

/**
 * One limit for all model calls of one or many runs: on concurrent calls, requests per minute and tokens per minute. Waiting calls share
 * the capacity by priority (see `FairQueue`). A waiting call keeps the process alive; an idle pool has no timer.
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

  /** Throws an `InvalidValueError` if an option is wrong. */
  constructor(options: FairPoolOptions = {}) {
    // A subclass may have options of its own.
    if (new.target === FairPool) checkFields("options", options, OPTIONS);
    if (options.clock !== undefined) checkPort("clock", options.clock, ["now"]);
    this.clock = withTimers(options.clock ?? MONOTONIC, globalThis);
    this.concurrency = checkIntegerOrNull("concurrency", options.concurrency, 1) ?? Infinity;
    const now = this.clock.now();
    const requests = checkIntegerOrNull("requestsPerMinute", options.requestsPerMinute, 1);
    const tokens = checkIntegerOrNull("tokensPerMinute", options.tokensPerMinute, 1);
    this.requests = requests === null ? undefined : fullBucket(requests, now);
    this.tokens = tokens === null ? undefined : fullBucket(tokens, now);
    this.queue = new FairQueue(checkInteger("agingMs", options.agingMs ?? 60_000, 0));
  }

  /** How many permits are held. */
  get active(): number {
    return this.running;
  }

  /** How many calls wait for a permit. */
  get waiting(): number {
    return this.queue.size;
  }

  /**
   * Returns a permit at once if there is room, else a promise of one; by default with priority NORMAL. Release it when the call has
   * ended. Throws a `CancellationError` if the signal is aborted (the promise rejects with it), and an `InvalidValueError` if the call
   * is too large to ever start.
   */
  acquire(request: Partial<LimiterRequest> = {}): MaybePromise<Permit> {
    if (typeof request !== "object" || request === null)
      throw new InvalidValueError({
        field: "request",
        value: request,
        expected: "{ priority?, tokens?, signal? }",
      });
    const signal = checkSignal("signal", request.signal);
    const { priority: asked = Priority.NORMAL } = request;
    const priority = PRIORITIES.has(asked) ? asked : checkOneOf("priority", asked, Priority);
    const tokens = this.checkTokens(request.tokens);
    if (signal?.aborted === true) throw cancellationOf(signal);
    // Start at once only if nobody else waits; otherwise the call would overtake the queue.
    if (this.queue.size === 0 && this.delay(tokens, this.clock.now()) === 0) return this.start(tokens);
    return this.wait(priority, tokens, signal);
  }

  /** Lets no call start for this many milliseconds, at most 300,000. Call it when a provider answers with a rate limit. */
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
  }

  private wait(priority: Priority, tokens: number, signal: AbortSignalLike | undefined): Promise<Permit> {
    return new Promise((resolve, reject) => {
      let unlisten: (() => void) | undefined;
      const grant = (permit: Permit): void => {
        unlisten?.();
        resolve(permit);
      };
      // A priority is charged for what is scarce: tokens if they are limited, else calls.
      const cost = this.tokens === undefined ? 1 : Math.max(1, tokens);
      const place = this.queue.add({ tokens, grant }, priority, cost, this.clock.now());
      try {
        unlisten =
          signal &&
          onAbort(signal, () => {
            this.queue.leave(place);
            reject(cancellationOf(signal));
            this.pump();
          });
      } catch (error) {
        // It cannot be listened to. A place that nobody holds would be lost for good.
        this.queue.leave(place);
        throw error;
      }
      this.pump();
    });
  }

  /** Starts the calls that may start now. If only time is missing, sets a timer for then. */
  private pump(): void {
    this.timer?.cancel();
    this.timer = undefined;
    while (this.queue.size > 0) {
      const now = this.clock.now();
      // Wait for the first in line, however large it is: letting smaller calls pass would starve it.
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

  /** Milliseconds until a call of this size may start: 0 for now, `Infinity` if a permit must be released first. */
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
    return new HeldPermit((actual, sent) => {
      this.running--;
      if (this.requests !== undefined && !sent) take(this.requests, -1);
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
      expected: `at most ${this.tokens.perMinute} (tokensPerMinute), because a larger call could never start: shorten it, lower maxOutputTokens or raise tokensPerMinute`,
    });
  }
}

class HeldPermit implements Permit {
  private end: ((tokens: number | undefined, sent: boolean) => void) | undefined;

  constructor(end: (tokens: number | undefined, sent: boolean) => void) {
    this.end = end;
  }

  release(actual?: Parameters<Permit["release"]>[0]): void {
    const { end } = this;
    this.end = undefined;
    const sent = actual?.sent !== false;
    const tokens = actual?.tokens ?? (sent ? undefined : 0);
    const isWrong = tokens !== undefined && !(Number.isFinite(tokens) && tokens >= 0);
    // Free the slot even if the argument is wrong.
    end?.(isWrong ? undefined : tokens, sent);
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
