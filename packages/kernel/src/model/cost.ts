/**
 * The sum of two amounts in dollars, added in whole billionths so that many small ones add up exactly. Null if either is not known:
 * an unknown price makes a sum unknown, not smaller.
 */
export function addCost(a: number | null, b: number | null): number | null {
  return a === null || b === null ? null : (Math.round(a * 1e9) + Math.round(b * 1e9)) / 1e9;
}
