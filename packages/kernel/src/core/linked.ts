/** An item of a `LinkedList`, which knows its neighbours. It is in one list at a time. */
export interface Linked<T> {
  before: T | undefined;
  after: T | undefined;
}

/**
 * Items in the order in which they came, each taken out as cheaply as it was put in. A `Set` of objects does the same in four times
 * the time: it makes up a hash for each, and a new table for every few that come and go.
 */
export class LinkedList<T extends Linked<T>> {
  first: T | undefined;
  private last: T | undefined;

  get isEmpty(): boolean {
    return this.first === undefined;
  }

  /** At the end. One that is there already stays where it is. */
  add(item: T): void {
    if (item.before !== undefined || this.first === item) return;
    item.before = this.last;
    if (this.last === undefined) this.first = item;
    else this.last.after = item;
    this.last = item;
  }

  /** Again, it does nothing. */
  delete(item: T): void {
    const { before, after } = item;
    if (before === undefined && this.first !== item) return;
    if (before === undefined) this.first = after;
    else before.after = after;
    if (after === undefined) this.last = before;
    else after.before = before;
    // Who has left leads to nobody: it would keep all who came after it alive for as long as itself.
    item.before = item.after = undefined;
  }

  /** Those that are there now. */
  toArray(): T[] {
    const items: T[] = [];
    for (let item = this.first; item !== undefined; item = item.after) items.push(item);
    return items;
  }

  /** The same, and nobody is there any more. */
  takeAll(): T[] {
    const items = this.toArray();
    for (const item of items) item.before = item.after = undefined;
    this.first = this.last = undefined;
    return items;
  }
}
