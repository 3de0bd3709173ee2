import type { Clock } from "@ravi/kernel";
import type { Told } from "../topic/log.ts";

/** How long something told may wait for company. A parcel is a message to the server, and costs as much as an admission. */
const LINGER_MS = 100;

/** Sends what an execution tells, in order and one parcel at a time: what comes meanwhile goes with the next. */
export class Publisher {
  private readonly send: (events: readonly Told[]) => Promise<void>;
  private waiting: Told[] = [];
  private sending: Promise<void> | undefined;
  private readonly clock: Clock;
  private hurry: (() => void) | undefined;

  constructor(clock: Clock, send: (events: readonly Told[]) => Promise<void>) {
    this.clock = clock;
    this.send = send;
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
        // The attempt is dead. The one after it tells again what is not there yet.
      }
    }
    this.sending = undefined;
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
