import {
  ErrorCode,
  errorToJSON,
  InvalidValueError,
  type RestartPolicy,
  type SerializedError,
  checkFields,
  checkInteger,
  systemIds,
} from "@ravi/kernel";

export interface RetryPolicyOptions {
  /** How often one execution is started again; 3 unless given. */
  readonly maxRetries?: number | undefined;
  /** The longest wait before the first restart; it doubles with each. 1,000 unless given. */
  readonly baseMs?: number | undefined;
  /** No wait is longer; 30,000 unless given. */
  readonly maxMs?: number | undefined;
  /** A number in [0, 1). */
  readonly random?: (() => number) | undefined;
  /** How many executions are remembered, 10,000 unless given; past that, the one that crashed first is forgotten. */
  readonly maxTracked?: number | undefined;
}

/**
 * What is no crash: somebody decided it, or a restart would meet the same again. A failed model call is among them, because
 * the layer around the model has already retried it, and restarting would multiply the two.
 */
const FINAL: ReadonlySet<ErrorCode> = new Set([
  ErrorCode.PROVIDER_ERROR,
  // A mistake in the set-up, such as a missing key, is the same next time.
  ErrorCode.INVALID_VALUE,
  ErrorCode.CANCELLED,
  ErrorCode.DEADLINE_EXCEEDED,
  ErrorCode.BUDGET_EXHAUSTED,
  ErrorCode.MIDDLEWARE_TERMINATION,
  ErrorCode.PAUSED,
  ErrorCode.SUSPENDED,
  ErrorCode.NEEDS_DECISION,
  ErrorCode.NON_DETERMINISM,
  ErrorCode.JOURNAL_CORRUPT,
  ErrorCode.JOURNAL_LOCKED,
]);

/** Restarts a crashed execution a few times, then gives up. */
export class RetryPolicy implements RestartPolicy {
  readonly maxRetries: number;
  private readonly baseMs: number;
  private readonly maxMs: number;
  private readonly maxTracked: number;
  private readonly random: () => number;
  /** In the order of their first crash. */
  private readonly counts = new Map<string, number>();

  constructor(options: number | RetryPolicyOptions = {}) {
    const given: RetryPolicyOptions = typeof options === "number" ? { maxRetries: options } : options;
    checkFields("retryPolicy", given, ["maxRetries", "baseMs", "maxMs", "random", "maxTracked"]);
    this.maxRetries = checkInteger("maxRetries", given.maxRetries ?? 3, 0);
    this.baseMs = checkInteger("baseMs", given.baseMs ?? 1000, 0);
    this.maxMs = checkInteger("maxMs", given.maxMs ?? 30_000, 0);
    this.maxTracked = checkInteger("maxTracked", given.maxTracked ?? 10_000, 1);
    const { random = () => systemIds.random() } = given;
    if (typeof random !== "function") {
      throw new InvalidValueError({ field: "random", value: random, expected: "a function" });
    }
    this.random = random;
  }

  /** Asks and counts. An error that a restart cannot mend is not counted. */
  shouldRetry(execId: string, error?: unknown): boolean {
    if (isFinal(error)) return false;
    const count = this.counts.get(execId) ?? 0;
    if (count >= this.maxRetries) return false;
    this.counts.set(execId, count + 1);
    this.forgetOldest();
    return true;
  }

  /** Full jitter: evenly between nothing and a ceiling that doubles. The first restart is attempt 1. */
  delayMs(attempt: number): number {
    const doublings = Math.min(checkInteger("attempt", attempt, 0), 1000) - 1;
    const ceiling = Math.min(this.maxMs, this.baseMs * 2 ** Math.max(0, doublings));
    return Math.floor(this.random() * ceiling);
  }

  /** After a success: a later crash starts from a fresh count. */
  reset(execId: string): void {
    this.counts.delete(execId);
  }

  private forgetOldest(): void {
    if (this.counts.size <= this.maxTracked) return;
    for (const oldest of this.counts.keys()) {
      this.counts.delete(oldest);
      return;
    }
  }
}

/**
 * Looks through wrappers too: a provider's failure inside a plain `Error` is still one. It goes by what a journal keeps of an
 * error, so that a run that is read again decides the same.
 */
function isFinal(error: unknown): boolean {
  for (let at: SerializedError | null = errorToJSON(error); at !== null; at = at.cause) {
    if (at.code !== null && FINAL.has(at.code)) return true;
    // One that could not write this once may be tried again.
    if (at.code === ErrorCode.JOURNAL_FAILED && at.fields["final"] === true) return true;
  }
  return false;
}
