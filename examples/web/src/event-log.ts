import type { RunEvent } from "@ravi/sdk";

/** The events of a run, for readers who come at any time. */
export class EventLog {
  /**
   * Names this list. A run that is resumed tells its events from the beginning and numbers them anew, so who has read an earlier list
   * must begin again.
   */
  readonly name: string;
  private readonly events: RunEvent[] = [];
  private over = false;
  private changed = Promise.withResolvers<void>();

  constructor(name: string) {
    this.name = name;
  }

  get isOver(): boolean {
    return this.over;
  }

  push(event: RunEvent): void {
    this.events.push(event);
    this.wake();
  }

  /** No more events come. */
  end(): void {
    this.over = true;
    this.wake();
  }

  /** All events whose number is above `after`, and then those to come, until the end or until the reader leaves. */
  async *read(after: number, left: AbortSignal): AsyncGenerator<RunEvent, void, undefined> {
    left.addEventListener("abort", () => this.wake(), { once: true });
    // The numbers count from 1, without gaps.
    for (let at = after; !left.aborted;) {
      const event = this.events[at];
      if (event !== undefined) {
        yield event;
        at++;
      } else if (this.over) return;
      else await this.changed.promise;
    }
  }

  private wake(): void {
    const { resolve } = this.changed;
    this.changed = Promise.withResolvers();
    resolve();
  }
}
