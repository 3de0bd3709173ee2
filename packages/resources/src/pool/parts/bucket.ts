/**
 * A token bucket for a rate per minute. It fills evenly up to one minute's worth, which is the most that can be taken at once. It goes into
 * debt if a call used more than it announced, by at most a few minutes' worth.
 */
export interface Bucket {
  readonly perMinute: number;
  level: number;
  /** When the level was last updated, in milliseconds. */
  at: number;
}

const MINUTE = 60_000;
/** Tolerance for rounding: levels are sums of fractions. */
const EPSILON = 1e-6;
/** In minutes. A provider that reports an impossibly high count must not block everybody for years. */
const MAX_DEBT = 4;

export function fullBucket(perMinute: number, now: number): Bucket {
  return { perMinute, level: perMinute, at: now };
}

/** Adds what has accrued since the last update. */
export function fill(bucket: Bucket, now: number): void {
  const passed = Math.max(0, now - bucket.at);
  bucket.level = Math.min(bucket.perMinute, bucket.level + (passed * bucket.perMinute) / MINUTE);
  bucket.at = now;
}

/** Milliseconds until that much is available. Call `fill` first. */
export function waitFor(bucket: Bucket, amount: number): number {
  const missing = amount - bucket.level;
  return missing <= EPSILON ? 0 : Math.ceil((missing * MINUTE) / bucket.perMinute);
}

/** Takes an amount; a negative one gives it back. The level stays between the debt limit and one minute's worth. */
export function take(bucket: Bucket, amount: number): void {
  const { perMinute, level } = bucket;
  bucket.level = Math.max(-MAX_DEBT * perMinute, Math.min(perMinute, level - amount));
}
