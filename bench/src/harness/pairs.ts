/** Two sides measured right after each other, so that other load on the machine affects both. */
export interface Pair<T = number> {
  readonly ours: T;
  readonly base: T;
}

export interface Comparison {
  readonly ours: number;
  readonly base: number;
  /** The median of the pairs' ratios, not the ratio of the medians. */
  readonly ratio: number;
  /** The first and third quartile of the ratios. */
  readonly spread: readonly [low: number, high: number];
  readonly pairs: number;
}

/** Measures both sides alternately; every other pair begins with the other side. */
export async function measurePairs<T>(
  count: number,
  ours: () => Promise<T>,
  base: () => Promise<T>,
): Promise<Pair<T>[]> {
  const pairs: Pair<T>[] = [];
  for (let at = 0; at < count; at++) {
    if (at % 2 === 0) {
      const first = await ours();
      pairs.push({ ours: first, base: await base() });
    } else {
      const first = await base();
      pairs.push({ base: first, ours: await ours() });
    }
  }
  return pairs;
}

export function compare(pairs: readonly Pair[]): Comparison {
  const ratios = pairs.map(({ ours, base }) => ours / base).toSorted((a, b) => a - b);
  return {
    ours: median(pairs.map(({ ours }) => ours)),
    base: median(pairs.map(({ base }) => base)),
    ratio: median(ratios),
    spread: [quantile(ratios, 0.25), quantile(ratios, 0.75)],
    pairs: pairs.length,
  };
}

export function median(values: readonly number[]): number {
  return quantile(
    values.toSorted((a, b) => a - b),
    0.5,
  );
}

/** A quantile of a sorted list, interpolated between neighbours. */
function quantile(sorted: readonly number[], part: number): number {
  const at = (sorted.length - 1) * part;
  const [low, high] = [sorted[Math.floor(at)], sorted[Math.ceil(at)]];
  if (low === undefined || high === undefined) throw new RangeError("nothing was measured");
  return low + (high - low) * (at - Math.floor(at));
}
