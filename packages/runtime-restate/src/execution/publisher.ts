import type { Clock, Logger } from "@ravi/kernel";
import { messageOf, tellLog } from "@ravi/kernel/loop";
import type { Told } from "../topic/log.ts";

/** How long something told may wait for company. A parcel is a message to the server, and costs as much as an admission. */
const LINGER_MS = 100;

/** Does not throw. */
type Send = (events: readonly Told[]) => Promise<void>;

export interface PublishersOptions {
  readonly clock: Clock;
  readonly send: (runId: string, events: readonly Told[]) => Promise<void>;
  /** Aborted when the worker closes. */
  readonly closed: AbortSignal;
  readonly logger?: Logger | undefined;
}

/** The publishers of a worker, one for each run that it has something to tell of: what its agents tell at once goes together. */
export class Publishers {
  private readonly options: PublishersOptions;
  private readonly open = new Map<string, Publisher>();

  constructor(options: PublishersOptions) {
    this.options = options;
  }

  of(runId: string): Publisher {
    let publisher = this.open.get(runId);
    if (publisher === undefined) {
      const send: Send = (events) => this.sendOrTell(runId, events);
      publisher = new Publisher(this.options.clock, send, () => this.open.delete(runId));
      this.open.set(runId, publisher);
    }
    return publisher;
  }

  /** Nobody waits for what is told, so its loss ends nothing; but somebody may look for it. */
  private async sendOrTell(runId: string, events: readonly Told[]): Promise<void> {
    const { send, closed, logger } = this.options;
    try {
      await send(runId, events);
    } catch (error) {
      // Closed: the next attempt, elsewhere, tells again what is not there yet.
      if (closed.aborted) return;
      tellLog(logger, "warn", `${events.length} events of ${runId} could not be told: ${messageOf(error)}`);
    }
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
      await this.send(parcel);
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
