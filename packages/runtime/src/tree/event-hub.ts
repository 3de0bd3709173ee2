import type { RunEvent } from "@ravi/kernel";

interface Waiting {
  readonly resolve: (result: IteratorResult<RunEvent>) => void;
}

/** One observer: what it has not read yet, or that it waits. */
class Subscription implements AsyncIterableIterator<RunEvent> {
  private readonly unread: RunEvent[] = [];
  private waiting: Waiting[] = [];
  private ended = false;
  private readonly leave: (subscription: Subscription) => void;

  constructor(leave: (subscription: Subscription) => void) {
    this.leave = leave;
  }

  push(event: RunEvent): void {
    const reader = this.waiting.shift();
    if (reader === undefined) this.unread.push(event);
    else reader.resolve({ value: event, done: false });
  }

  end(): void {
    this.ended = true;
    for (const reader of this.waiting) reader.resolve({ value: undefined, done: true });
    this.waiting = [];
  }

  next(): Promise<IteratorResult<RunEvent>> {
    const event = this.unread.shift();
    if (event !== undefined) return Promise.resolve({ value: event, done: false });
    if (this.ended) return Promise.resolve({ value: undefined, done: true });
    return new Promise((resolve) => this.waiting.push({ resolve }));
  }

  /** Somebody broke off: nothing stays behind. */
  return(): Promise<IteratorResult<RunEvent>> {
    this.leave(this);
    this.unread.length = 0;
    this.end();
    return Promise.resolve({ value: undefined, done: true });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}

/** Tells any number of observers what happens in a tree. They never change it; without them nothing is kept. */
export class EventHub {
  /** Made for the first of them. */
  private observers: Set<Subscription> | undefined;
  private seq = 0;
  private over = false;

  /** Whether anybody looks, so that nothing is built for nobody. */
  get isWatched(): boolean {
    return this.observers !== undefined && this.observers.size > 0;
  }

  /** From now on. */
  subscribe(): AsyncIterableIterator<RunEvent> {
    const subscription = new Subscription((left) => this.observers?.delete(left));
    if (this.over) subscription.end();
    else (this.observers ??= new Set()).add(subscription);
    return subscription;
  }

  publish(event: Omit<RunEvent, "seq">): void {
    const numbered: RunEvent = Object.freeze({ seq: ++this.seq, ...event });
    for (const observer of this.observers ?? []) observer.push(numbered);
  }

  /** Nobody looks, but the number is taken: observers who come later see where they came in. */
  skip(): void {
    this.seq++;
  }

  close(): void {
    this.over = true;
    for (const observer of this.observers ?? []) observer.end();
    this.observers = undefined;
  }
}
