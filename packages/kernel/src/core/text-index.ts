/** What is found by a text of its own. One is in one index at a time. */
export interface Indexed<T> {
  readonly text: string;
  /** Another that is looked at together with it: for the index to use. */
  alike?: T | undefined;
}

/** So few are gone through one by one: a map of them takes longer, and 0.2 kB. */
const FEW = 8;
/** Of a text that is longer than twice this, only the two ends are read. */
const END = 512;

/**
 * What numbers begin with, another in each process: whoever chooses ids could choose ten thousand that all have the same number. Made
 * when the first index needs numbers, since some platforms have no chance to give while a module is loaded.
 */
let seed = 0;

/** Of a list of so many firsts, each leads to all whose texts have the same end of a number. */
const FIRSTS = 32;

/**
 * A map of texts that most often are new. A `Map` makes every text that it is asked about known to the whole process, so that it can be
 * compared by its address: for one that is looked up once or twice that takes longer than all the rest, 0.4 µs in the middle of a run.
 * A `Map` of their numbers takes twice as long as a list of its own, as it is not compiled together with whoever asks.
 */
export class TextIndex<T extends Indexed<T>> {
  size = 0;
  private few: T | undefined;
  private firsts: (T | undefined)[] | undefined;

  get(text: string): T | undefined {
    const { firsts } = this;
    let item = firsts === undefined ? this.few : firsts[placeOf(text, firsts)];
    while (item !== undefined && item.text !== text) item = item.alike;
    return item;
  }

  /** The text of it must not be there yet. */
  add(item: T): void {
    const most = this.firsts?.length ?? FEW;
    if (this.size++ === most) this.spread(this.firsts === undefined ? FIRSTS : 4 * most);
    if (this.firsts !== undefined) return put(this.firsts, item);
    item.alike = this.few;
    this.few = item;
  }

  /** It must be there. */
  delete(item: T): void {
    this.size--;
    const { firsts } = this;
    if (firsts === undefined) this.few = without(this.few, item);
    else {
      const place = placeOf(item.text, firsts);
      firsts[place] = without(firsts[place], item);
      if (this.size === 0) this.firsts = undefined;
    }
    item.alike = undefined;
  }

  private spread(count: number): void {
    // Odd: it changes the numbers of all texts.
    seed ||= 1 | Math.trunc(Math.random() * 0x7fffffff);
    // oxlint-disable-next-line unicorn/no-new-array -- `Array.from` takes 5 µs for this, a tenth of what 50 turns take to watch
    const firsts = new Array<T | undefined>(count).fill(undefined);
    for (let item of this.firsts ?? [this.few]) {
      while (item !== undefined) {
        const { alike }: Indexed<T> = item;
        put(firsts, item);
        item = alike;
      }
    }
    this.few = undefined;
    this.firsts = firsts;
  }
}

function put<T extends Indexed<T>>(firsts: (T | undefined)[], item: T): void {
  const place = placeOf(item.text, firsts);
  item.alike = firsts[place];
  firsts[place] = item;
}

/** What is left of those that one leads to. */
function without<T extends Indexed<T>>(first: T | undefined, item: T): T | undefined {
  if (first === item) return item.alike;
  let before = first;
  while (before !== undefined && before.alike !== item) before = before.alike;
  if (before !== undefined) before.alike = item.alike;
  return first;
}

/** Their count is a power of two. */
function placeOf(text: string, firsts: readonly unknown[]): number {
  const number = numberOf(text);
  return (number ^ (number >>> 16)) & (firsts.length - 1);
}

function numberOf(text: string): number {
  const { length } = text;
  let number = length ^ seed;
  const upTo = length <= 2 * END ? length : END;
  for (let at = 0; at < upTo; at++) number = Math.imul(number ^ text.charCodeAt(at), 0x01000193);
  if (upTo < length)
    for (let at = length - END; at < length; at++)
      number = Math.imul(number ^ text.charCodeAt(at), 0x01000193);
  return number;
}
