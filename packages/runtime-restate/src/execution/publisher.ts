import type { Clock } from "@ravi/kernel";
import type { Told } from "../topic/log.ts";

/** How long something told may wait for company. A parcel is a message to the server, and costs as much as an admission. */
const LINGER_MS = 100;

type Send = (events: readonly Told[]) => Promise<void>;

/** The publishers of a worker, one for each run that it has something to tell of: what its agents tell at once goes together. */
export class Publishers {
  private readonly clock: Clock;
  private readonly send: (runId: string, events: readonly Told[]) => Promise<void>;
  private readonly open = new Map<string, Publisher>();

  constructor(clock: Clock, send: (runId: string, events: readonly Told[]) => Promise<void>) {
    this.clock = clock;
    this.send = send;
  }

  of(runId: string): Publisher {
    let publisher = this.open.get(runId);
    if (publisher === undefined) {
      const send: Send = (events) => this.send(runId, events);
      publisher = new Publisher(this.clock, send, () => this.open.delete(runId));
      this.open.set(runId, publisher);
    }
    return publisher;
  }
}

/** Sends what is told of a run, in order and one parcel at a time: what comes meanwhile goes with the next. */
export class Publisher {
  private readonly send: Send;
  private readonly onIdle: () => void;
  private waiting: Told[] = [];
  private sending: Promise<void> | undefined;
  private readonly clock: Clock;
  private hurry: (() => void) | undefined;

  /** `onIdle` is told whenever there is nothing more to send. */
  constructor(clock: Clock, send: Send, onIdle: () => void = () => {}) {
    this.clock = clock;
    this.send = send;
    this.onIdle = onIdle;
  }

  add(event: Told): void {
    this.waiting.push(event);
    this.sending ??= this.drain();
  }

  /** Until all of it has arrived. */
  async flush(): Promise<void> {
    while (this.sending !== undefined) {
      this.hurry?.();
      await this.sending;
    }
  }

  private async drain(): Promise<void> {
    await this.linger();
    while (this.waiting.length > 0) {
      const parcel = this.waiting;
      this.waiting = [];
      try {
        await this.send(parcel);
      } catch {
        // The worker is closed. The next attempt tells again what is not there yet.
      }
    }
    this.sending = undefined;
    this.onIdle();
  }

  private async linger(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.hurry = resolve;
    const timer = this.clock.setTimer?.(resolve, LINGER_MS);
    if (timer === undefined) resolve();
    await promise;
    timer?.cancel();
    this.hurry = undefined;
  }
}
