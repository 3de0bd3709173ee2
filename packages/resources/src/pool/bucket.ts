/**
 * How much of a rate may be used now. It fills evenly up to a minute's worth, which is what may be taken at once, and can
 * be in debt when a call took more than it said, by a few minutes' worth at most.
 */
export interface Bucket {
  readonly perMinute: number;
  level: number;
  /** When the level was last brought up to date. */
  at: number;
}

const MINUTE = 60_000;
/** A hair less than one is one: levels are sums of fractions. */
const HAIR = 1e-6;
/** In minutes. A provider that reports a count which cannot be true must not hold everybody for years. */
const MOST_DEBT = 4;

export function fullBucket(perMinute: number, now: number): Bucket {
  return { perMinute, level: perMinute, at: now };
}

export function fill(bucket: Bucket, now: number): void {
  const passed = Math.max(0, now - bucket.at);
  bucket.level = Math.min(bucket.perMinute, bucket.level + (passed * bucket.perMinute) / MINUTE);
  bucket.at = now;
}

/** How long until that much is there, once it is filled up to now. */
export function waitFor(bucket: Bucket, amount: number): number {
  const missing = amount - bucket.level;
  return missing <= HAIR ? 0 : Math.ceil((missing * MINUTE) / bucket.perMinute);
}

export function take(bucket: Bucket, amount: number): void {
  const { perMinute, level } = bucket;
  bucket.level = Math.max(-MOST_DEBT * perMinute, Math.min(perMinute, level - amount));
}
