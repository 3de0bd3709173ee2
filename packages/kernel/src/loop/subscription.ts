type Reader<T> = (result: IteratorResult<T>) => void;

/** Up to so many read events stay in the list, because copying the rest would cost more than they do. */
const MAX_READ_KEPT = 1_024;

/**
 * One observer, which reads at its own pace. Holds the events that it has not read yet; beyond `maxUnread` the oldest are dropped, so
 * that an observer that never reads does not fill the memory. `leave` is called when it stops early.
 */
export class Subscription<T extends object> implements AsyncIterableIterator<T> {
  private unread: T[] = [];
  /** How many events of `unread` were read already. Removing each one from the front would move all the others. */
  private read = 0;
  private waiting: Reader<T> | undefined;
  /** Further calls of `next` before the first was answered. */
  private alsoWaiting: Reader<T>[] | undefined;
  private ended = false;
  private readonly leave: (subscription: Subscription<T>) => void;
  private readonly maxUnread: number;

  constructor(leave: (subscription: Subscription<T>) => void, maxUnread = Infinity) {
    this.leave = leave;
    this.maxUnread = maxUnread;
  }

  push(event: T): void {
    const { waiting } = this;
    if (waiting === undefined) {
      this.unread.push(event);
      if (this.unread.length - this.read > this.maxUnread) this.take();
      return;
    }
    this.waiting = this.alsoWaiting?.shift();
    waiting({ value: event, done: false });
  }

  /** No more events come. Those that are not read yet can still be read. */
  end(): void {
    this.ended = true;
    const { waiting, alsoWaiting = [] } = this;
    this.waiting = this.alsoWaiting = undefined;
    waiting?.({ value: undefined, done: true });
    for (const reader of alsoWaiting) reader({ value: undefined, done: true });
  }

  next(): Promise<IteratorResult<T>> {
    const event = this.take();
    if (event !== undefined) return Promise.resolve({ value: event, done: false });
    if (this.ended) return Promise.resolve({ value: undefined, done: true });
    return new Promise((resolve) => {
      if (this.waiting === undefined) this.waiting = resolve;
      else (this.alsoWaiting ??= []).push(resolve);
    });
  }

  /** Called when the reader stops early. Nothing is kept for it. */
  return(): Promise<IteratorResult<T>> {
    this.leave(this);
    this.forget();
    this.end();
    return Promise.resolve({ value: undefined, done: true });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  private take(): T | undefined {
    const event = this.unread[this.read];
    if (event === undefined) return undefined;
    this.read++;
    if (this.read === this.unread.length) this.forget();
    // Otherwise a reader that never quite catches up would keep everything that it has read. Never for less than half: each copy would
    // be of all that is left.
    else if (this.read > MAX_READ_KEPT && this.read * 2 > this.unread.length) {
      this.unread = this.unread.slice(this.read);
      this.read = 0;
    }
    return event;
  }

  private forget(): void {
    this.unread = [];
    this.read = 0;
  }
}
