/** An item of a `LinkedList`. It can be in one list at a time. */
export interface Linked<T> {
  before: T | undefined;
  after: T | undefined;
}

/**
 * A doubly linked list in order of insertion, with removal in constant time. A `Set` of objects takes four times as long: it
 * computes a hash for each, and rebuilds its table every few insertions and removals.
 */
export class LinkedList<T extends Linked<T>> {
  first: T | undefined;
  private last: T | undefined;

  get isEmpty(): boolean {
    return this.first === undefined;
  }

  /** Adds the item at the end. Does nothing if it is in the list already. */
  add(item: T): void {
    // A list of one item does not touch it: lists hold objects of so many classes that each field takes 70 instructions.
    if (this.first === undefined) {
      this.first = this.last = item;
      return;
    }
    if (item.before !== undefined || this.first === item) return;
    item.before = this.last;
    if (this.last !== undefined) this.last.after = item;
    this.last = item;
  }

  /** Removes the item. Does nothing if it is not in the list. */
  delete(item: T): void {
    if (this.last === item && this.first === item) {
      this.first = this.last = undefined;
      return;
    }
    const { before, after } = item;
    if (before === undefined && this.first !== item) return;
    if (before === undefined) this.first = after;
    else before.after = after;
    if (after === undefined) this.last = before;
    else after.before = before;
    // A removed item must not point to its neighbours: it would keep them in memory as long as itself.
    item.before = item.after = undefined;
  }

  toArray(): T[] {
    const items: T[] = [];
    for (let item = this.first; item !== undefined; item = item.after) items.push(item);
    return items;
  }

  /** Returns all items and empties the list. */
  takeAll(): T[] {
    const items = this.toArray();
    for (const item of items) item.before = item.after = undefined;
    this.first = this.last = undefined;
    return items;
  }
}
