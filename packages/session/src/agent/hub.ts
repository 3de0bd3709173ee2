import { Subscription } from "@ravi/kernel/loop";
import type { SessionEvent } from "../extensions/events.ts";

/**
 * Unread events that a subscription keeps at most; then the oldest are dropped, so that a subscriber that never reads does not
 * fill the memory.
 */
const MAX_UNREAD = 100_000;

/** Publishes the events of a session to any number of observers, who cannot change them. Without observers nothing is stored. */
export class SessionHub {
  private readonly observers = new Set<Subscription<SessionEvent>>();

  get isWatched(): boolean {
    return this.observers.size > 0;
  }

  /** Events from now on, until the hub is closed or the reader stops. */
  subscribe(): AsyncIterableIterator<SessionEvent> {
    const leave = (left: Subscription<SessionEvent>): boolean => this.observers.delete(left);
    const subscription = new Subscription(leave, MAX_UNREAD);
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
