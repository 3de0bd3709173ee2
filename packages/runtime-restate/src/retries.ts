import type { RetryPolicy } from "@restatedev/restate-sdk";

/** Longer than anybody leaves a cluster without workers; what is left then waits for a `resume`. */
const FOR_EVER = { maxAttempts: 1_000_000, onMaxAttempts: "pause" } as const;

/** An execution whose worker died. */
export const PATIENT: RetryPolicy = {
  initialInterval: 50,
  exponentiationFactor: 2,
  maxInterval: 10_000,
  ...FOR_EVER,
};

/**
 * A message to an object keeps everybody else out while it waits for its next try, so it tries often. By itself the server would
 * wait up to a minute, and give up after an hour.
 */
export const DOOR: RetryPolicy = { ...PATIENT, initialInterval: 20, maxInterval: 1_000 };
