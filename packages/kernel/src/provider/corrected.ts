/** How many parameters of one request a provider may correct, one after the other. Each costs a refused request, which nobody bills. */
export const MAX_CORRECTIONS = 3;

/** The idempotency key of a request after some corrections. A different body needs a different one. */
export function correctedKey(key: string | undefined, corrections: number): string | undefined {
  if (key === undefined || corrections === 0) return key;
  return corrections === 1 ? `${key}:corrected` : `${key}:corrected-${corrections}`;
}
