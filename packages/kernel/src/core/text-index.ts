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
 * A map of texts that most often are new. A `Map` makes every text that it is asked about known to the whole process, so that it can be
 * compared by its address: for one that is looked up once or twice that takes longer than all the rest, 0.4 µs in the middle of a run.
 */
export class TextIndex<T extends Indexed<T>> {
  size = 0;
  private few: T | undefined;
  private byNumber: Map<number, T> | undefined;

  get(text: string): T | undefined {
    let item = this.byNumber === undefined ? this.few : this.byNumber.get(numberOf(text));
    while (item !== undefined && item.text !== text) item = item.alike;
    return item;
  }

  /** The text of it must not be there yet. */
  add(item: T): void {
    if (this.size++ === FEW && this.byNumber === undefined) this.byNumber = this.spread();
    if (this.byNumber !== undefined) return put(this.byNumber, item);
    item.alike = this.few;
    this.few = item;
  }

  /** It must be there. */
  delete(item: T): void {
    this.size--;
    const { byNumber } = this;
    if (byNumber === undefined) this.few = without(this.few, item);
    else {
      const number = numberOf(item.text);
      const left = without(byNumber.get(number), item);
      if (left === undefined) byNumber.delete(number);
      else byNumber.set(number, left);
      if (this.size === 0) this.byNumber = undefined;
    }
    item.alike = undefined;
  }

  private spread(): Map<number, T> {
    const byNumber = new Map<number, T>();
    let item = this.few;
    this.few = undefined;
    while (item !== undefined) {
      const { alike }: Indexed<T> = item;
      put(byNumber, item);
      item = alike;
    }
    return byNumber;
  }
}

function put<T extends Indexed<T>>(byNumber: Map<number, T>, item: T): void {
  const number = numberOf(item.text);
  item.alike = byNumber.get(number);
  byNumber.set(number, item);
}

/** What is left of those that one leads to. */
function without<T extends Indexed<T>>(first: T | undefined, item: T): T | undefined {
  if (first === item) return item.alike;
  let before = first;
  while (before !== undefined && before.alike !== item) before = before.alike;
  if (before !== undefined) before.alike = item.alike;
  return first;
}

function numberOf(text: string): number {
  const { length } = text;
  let number = length;
  const upTo = length <= 2 * END ? length : END;
  for (let at = 0; at < upTo; at++) number = Math.imul(number ^ text.charCodeAt(at), 0x01000193);
  if (upTo < length)
    for (let at = length - END; at < length; at++)
      number = Math.imul(number ^ text.charCodeAt(at), 0x01000193);
  return number;
}
