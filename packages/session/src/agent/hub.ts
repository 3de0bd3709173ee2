import type { SessionEvent } from "../extensions/events.ts";

/**
 * Unread events that a subscription keeps at most; then the oldest are dropped, so that a subscriber that never reads does not
 * fill the memory.
 */
const MAX_UNREAD = 100_000;
/** Up to so many read events stay in the list, because copying the rest would cost more than they do. */
const MAX_READ_KEPT = 1_024;

class Subscription implements AsyncIterableIterator<SessionEvent> {
  private unread: SessionEvent[] = [];
  /** The number of events in `unread` that were read already. Removing each one from the front would move all the others. */
  private read = 0;
  private waiting: ((result: IteratorResult<SessionEvent>) => void)[] = [];
  private ended = false;
  private readonly unsubscribe: (subscription: Subscription) => void;

  constructor(unsubscribe: (subscription: Subscription) => void) {
    this.unsubscribe = unsubscribe;
  }

  push(event: SessionEvent): void {
    const reader = this.waiting.shift();
    if (reader !== undefined) return reader({ value: event, done: false });
    this.unread.push(event);
    if (this.unread.length - this.read > MAX_UNREAD) this.take();
  }

  end(): void {
    this.ended = true;
    for (const reader of this.waiting) reader({ value: undefined, done: true });
    this.waiting = [];
  }

  next(): Promise<IteratorResult<SessionEvent>> {
    const event = this.take();
    if (event !== undefined) return Promise.resolve({ value: event, done: false });
    if (this.ended) return Promise.resolve({ value: undefined, done: true });
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  return(): Promise<IteratorResult<SessionEvent>> {
    this.unsubscribe(this);
    this.clear();
    this.end();
    return Promise.resolve({ value: undefined, done: true });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  private take(): SessionEvent | undefined {
    const event = this.unread[this.read];
    if (event === undefined) return undefined;
    this.read++;
    if (this.read === this.unread.length) this.clear();
    // Otherwise a reader that never quite catches up would keep everything that it has read.
    else if (this.read > MAX_READ_KEPT && this.read * 2 > this.unread.length) {
      this.unread = this.unread.slice(this.read);
      this.read = 0;
    }
    return event;
  }

  private clear(): void {
    this.unread = [];
    this.read = 0;
  }
}

/** Publishes the events of a session to any number of observers, who cannot change them. Without observers nothing is stored. */
export class SessionHub {
  private readonly observers = new Set<Subscription>();

  get isWatched(): boolean {
    return this.observers.size > 0;
  }

  /** Events from now on, until the hub is closed or the reader stops. */
  subscribe(): AsyncIterableIterator<SessionEvent> {
    const subscription = new Subscription((left) => this.observers.delete(left));
    this.observers.add(subscription);
    return subscription;
  }

  publish(event: SessionEvent): void {
    for (const observer of this.observers) observer.push(event);
  }

  /** Ends all current subscriptions. */
  close(): void {
    for (const observer of this.observers) observer.end();
    this.observers.clear();
  }
}
