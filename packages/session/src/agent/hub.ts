import type { SessionEvent } from "../extensions/events.ts";

/** Whoever never reads does not fill the memory: the oldest events are dropped. */
const MOST_UNREAD = 100_000;

class Subscription implements AsyncIterableIterator<SessionEvent> {
  private readonly unread: SessionEvent[] = [];
  private waiting: ((result: IteratorResult<SessionEvent>) => void)[] = [];
  private ended = false;
  private readonly leave: (subscription: Subscription) => void;

  constructor(leave: (subscription: Subscription) => void) {
    this.leave = leave;
  }

  push(event: SessionEvent): void {
    const reader = this.waiting.shift();
    if (reader !== undefined) return reader({ value: event, done: false });
    this.unread.push(event);
    if (this.unread.length > MOST_UNREAD) this.unread.shift();
  }

  end(): void {
    this.ended = true;
    for (const reader of this.waiting) reader({ value: undefined, done: true });
    this.waiting = [];
  }

  next(): Promise<IteratorResult<SessionEvent>> {
    const event = this.unread.shift();
    if (event !== undefined) return Promise.resolve({ value: event, done: false });
    if (this.ended) return Promise.resolve({ value: undefined, done: true });
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  return(): Promise<IteratorResult<SessionEvent>> {
    this.leave(this);
    this.unread.length = 0;
    this.end();
    return Promise.resolve({ value: undefined, done: true });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}

/** Tells any number of observers what happens in a session. They never change it; without them nothing is kept. */
export class SessionHub {
  private readonly observers = new Set<Subscription>();

  get isWatched(): boolean {
    return this.observers.size > 0;
  }

  /** From now on, until it is closed or broken off. */
  subscribe(): AsyncIterableIterator<SessionEvent> {
    const subscription = new Subscription((left) => this.observers.delete(left));
    this.observers.add(subscription);
    return subscription;
  }

  publish(event: SessionEvent): void {
    for (const observer of this.observers) observer.push(event);
  }

  /** All who watch now are done. */
  close(): void {
    for (const observer of this.observers) observer.end();
    this.observers.clear();
  }
}
