import { type RestartPolicy, checkFields, checkInteger, systemIds } from "@ravi/kernel";
import { backoffMs, checkFunction, forgetOldest, isFinalFailure } from "@ravi/kernel/loop";

export interface RetryPolicyOptions {
  /** How often one execution is restarted at most. Default: 3. */
  readonly maxRetries?: number | undefined;
  /** The maximum wait before the first restart, in milliseconds; it doubles with each restart. Default: 1,000. */
  readonly baseMs?: number | undefined;
  /** The upper bound of any wait, in milliseconds. Default: 30,000. */
  readonly maxMs?: number | undefined;
  /** Returns a number in [0, 1), used for the jitter. Default: the system's random numbers. */
  readonly random?: (() => number) | undefined;
  /** How many executions are counted at once; beyond that the one that crashed first is forgotten. Default: 10,000. */
  readonly maxTracked?: number | undefined;
}

/** Restarts a crashed execution a limited number of times, with exponential backoff and full jitter. */
export class RetryPolicy implements RestartPolicy {
  readonly maxRetries: number;
  private readonly baseMs: number;
  private readonly maxMs: number;
  private readonly maxTracked: number;
  private readonly random: () => number;
  /** Restarts granted per execution, in the order of the first crash. */
  private readonly counts = new Map<string, number>();

  /** A number is short for `{ maxRetries }`. Throws an `InvalidValueError` if an option is wrong. */
  constructor(options: number | RetryPolicyOptions = {}) {
    const given: RetryPolicyOptions = typeof options === "number" ? { maxRetries: options } : options;
    checkFields("retryPolicy", given, ["maxRetries", "baseMs", "maxMs", "random", "maxTracked"]);
    this.maxRetries = checkInteger("maxRetries", given.maxRetries ?? 3, 0);
    this.baseMs = checkInteger("baseMs", given.baseMs ?? 1000, 0);
    this.maxMs = checkInteger("maxMs", given.maxMs ?? 30_000, 0);
    this.maxTracked = checkInteger("maxTracked", given.maxTracked ?? 10_000, 1);
    this.random = checkFunction("random", given.random) ?? (() => systemIds.random());
  }

  /**
   * Whether to restart the execution. Each `true` counts as one restart; an error that a restart cannot mend returns false,
   * uncounted.
   */
  shouldRetry(execId: string, error?: unknown): boolean {
    if (isFinalFailure(error)) return false;
    const count = this.counts.get(execId) ?? 0;
    if (count >= this.maxRetries) return false;
    this.counts.set(execId, count + 1);
    forgetOldest(this.counts, this.maxTracked);
    return true;
  }

  /** The wait before a restart, in milliseconds, with full jitter. The first restart is attempt 1. */
  delayMs(attempt: number): number {
    const { baseMs, maxMs } = this;
    const retry = checkInteger("attempt", attempt, 0);
    return backoffMs({ retry, baseMs, maxMs, random: this.random() });
  }

  /** Forgets the execution's count. Call it after a success, so that a later crash starts from zero. */
  reset(execId: string): void {
    this.counts.delete(execId);
  }
}
