export interface Backoff {
  /** Which retry is waited for. The first is 1. */
  readonly retry: number;
  readonly baseMs: number;
  readonly maxMs: number;
  /** A number in [0, 1). */
  readonly random: number;
}

/**
 * The wait before a retry, in milliseconds: random, evenly distributed below a ceiling that begins at `baseMs` and doubles with each
 * retry (full jitter). So clients that were refused together do not all return together.
 */
export function backoffMs({ retry, baseMs, maxMs, random }: Backoff): number {
  // More doublings would be infinite, and 0 times that is not a number.
  const doublings = Math.min(Math.max(0, retry - 1), 1_000);
  return Math.floor(random * Math.min(maxMs, baseMs * 2 ** doublings));
}
