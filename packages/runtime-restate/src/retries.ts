import type { RetryPolicy } from "@restatedev/restate-sdk";

/** Longer than any cluster stays without workers. What is left after that waits for a `resume`. */
const UNTIL_RESUMED = { maxAttempts: 1_000_000, onMaxAttempts: "pause" } as const;

/** For executions whose worker died. Times in milliseconds. */
export const EXECUTION_RETRIES: RetryPolicy = {
  initialInterval: 50,
  exponentiationFactor: 2,
  maxInterval: 10_000,
  ...UNTIL_RESUMED,
};

/**
 * For messages to objects. A message blocks all others while it waits for its next try, so it is retried often. With the server's
 * defaults it would wait up to a minute, and give up after an hour.
 */
export const OBJECT_RETRIES: RetryPolicy = { ...EXECUTION_RETRIES, initialInterval: 20, maxInterval: 1_000 };
