import { codeAt } from "./code-at.ts";

/** An item of a `TextIndex`, found by its `text`. It can be in one index at a time. */
export interface Indexed<T> {
  readonly text: string;
  /** The hash of the text; 0 until it is needed. It takes a twentieth of a bare turn to make, so it is made once. */
  hash?: number;
  /** The next item in the same bucket. Used by the index only. */
  alike?: T | undefined;
}

/** Up to this many items are kept in one chain: a table for them takes longer, and 0.2 kB. */
const FEW = 8;
/** Of a text that is longer than twice this, only the first and last 512 characters are hashed. */
const END = 512;

/**
 * The start value of the hash, different in each process: otherwise somebody who chooses ids could choose ten thousand with the
 * same hash. Set when the first index needs a hash, since some platforms refuse random numbers while a module is loaded.
 */
let seed = 0;

/** The number of buckets of the first table. */
const FIRST_BUCKETS = 32;

/**
 * A hash map for texts that are mostly new. A `Map` interns each text that it is asked for in the whole process; for a text that
 * is looked up once or twice that takes longer than all the rest, 0.4 µs in the middle of a run. A `Map` of the hashes takes
 * twice as long as this table, because it is not inlined into its callers.
 */
export class TextIndex<T extends Indexed<T>> {
  size = 0;
  private chain: T | undefined;
  private buckets: (T | undefined)[] | undefined;

  /** The hash of a text, for `get` and for the item that is added if there is none; 0 as long as none is needed. */
  hashOf(text: string): number {
    return this.buckets === undefined ? 0 : hashOf(text);
  }

  get(text: string, hash = this.hashOf(text)): T | undefined {
    const { buckets } = this;
    let item = buckets === undefined ? this.chain : buckets[bucketOf(hash, buckets)];
    while (item !== undefined && item.text !== text) item = item.alike;
    return item;
  }

  /** Adds an item whose text must not be in the index yet. */
  add(item: T): void {
    const most = this.buckets?.length ?? FEW;
    if (this.size++ === most) this.grow(this.buckets === undefined ? FIRST_BUCKETS : 4 * most);
    if (this.buckets !== undefined) return put(this.buckets, item);
    item.alike = this.chain;
    this.chain = item;
  }

  /** Removes an item that must be in the index. */
  delete(item: T): void {
    this.size--;
    const { buckets } = this;
    if (buckets === undefined) this.chain = without(this.chain, item);
    else {
      const bucket = bucketOf(hashOfItem(item), buckets);
      buckets[bucket] = without(buckets[bucket], item);
      if (this.size === 0) this.buckets = undefined;
    }
    item.alike = undefined;
  }

  private grow(count: number): void {
    // Odd, so that it is never 0, which means "not set".
    seed ||= 1 | Math.trunc(Math.random() * 0x7fffffff);
    // oxlint-disable-next-line unicorn/no-new-array -- `Array.from` takes 5 µs for this, a tenth of what 50 turns take to watch
    const buckets = new Array<T | undefined>(count).fill(undefined);
    for (let item of this.buckets ?? [this.chain]) {
      while (item !== undefined) {
        const { alike }: Indexed<T> = item;
        put(buckets, item);
        item = alike;
      }
    }
    this.chain = undefined;
    this.buckets = buckets;
  }
}

function put<T extends Indexed<T>>(buckets: (T | undefined)[], item: T): void {
  const bucket = bucketOf(hashOfItem(item), buckets);
  item.alike = buckets[bucket];
  buckets[bucket] = item;
}

/** Removes an item from a chain and returns the chain's new first item. */
function without<T extends Indexed<T>>(first: T | undefined, item: T): T | undefined {
  if (first === item) return item.alike;
  let before = first;
  while (before !== undefined && before.alike !== item) before = before.alike;
  if (before !== undefined) before.alike = item.alike;
  return first;
}

function hashOfItem<T extends Indexed<T>>(item: T): number {
  return (item.hash ||= hashOf(item.text));
}

/** The index of the bucket for a hash. The number of buckets is a power of two. */
function bucketOf(hash: number, buckets: readonly unknown[]): number {
  return (hash ^ (hash >>> 16)) & (buckets.length - 1);
}

function hashOf(text: string): number {
  const { length } = text;
  let hash = length ^ seed;
  const upTo = length <= 2 * END ? length : END;
  for (let at = 0; at < upTo; at++) hash = Math.imul(hash ^ codeAt(text, at), 0x01000193);
  if (upTo < length)
    for (let at = length - END; at < length; at++) hash = Math.imul(hash ^ codeAt(text, at), 0x01000193);
  return hash;
}
