import type { Clock, Logger } from "@ravi/kernel";
import { messageOf, tellLog } from "@ravi/kernel/loop";
import type { NumberedEvent } from "../topic/log.ts";
import { bytesOf, inParts } from "../sizes.ts";

/**
 * Milliseconds that events wait for more to join them. Each batch is a message to the server, which costs as much as an admission.
 */
const LINGER_MS = 100;

/** The server refuses a message of 32 MiB, which the reports of a tool in a tight loop could reach. See also `storedEvent`. */
const MESSAGE = { mostItems: 1_000, mostBytes: 8 * 1024 * 1024, sizeOf };

/** Returns whether the server has them. Must not throw. */
type Send = (events: readonly NumberedEvent[]) => Promise<boolean>;

/** Of an event that the server may have already. */
export interface Repeatable {
  /** Whether it is still to be sent. Asked just before. */
  readonly isNeeded: () => boolean;
  /** The server has it. */
  readonly onSent: () => void;
}

interface Waiting {
  readonly event: NumberedEvent;
  readonly more: Repeatable | undefined;
}

export interface PublishersOptions {
  readonly clock: Clock;
  readonly send: (runId: string, events: readonly NumberedEvent[]) => Promise<void>;
  /** Aborted when the worker closes. */
  readonly closed: AbortSignal;
  readonly logger?: Logger | undefined;
}

/** The publishers of a worker, one per run, so that events of several agents go together. */
export class Publishers {
  private readonly options: PublishersOptions;
  private readonly open = new Map<string, Publisher>();

  constructor(options: PublishersOptions) {
    this.options = options;
  }

  /** The publisher of a run. It is created if needed, and removed when it is idle. */
  of(runId: string): Publisher {
    let publisher = this.open.get(runId);
    if (publisher === undefined) {
      const send: Send = (events) => this.sendOrLog(runId, events);
      publisher = new Publisher(this.options.clock, send, () => this.open.delete(runId));
      this.open.set(runId, publisher);
    }
    return publisher;
  }

  /** A lost event must not fail the run, so the error is only logged. */
  private async sendOrLog(runId: string, events: readonly NumberedEvent[]): Promise<boolean> {
    const { send, closed, logger } = this.options;
    try {
      await send(runId, events);
      return true;
    } catch (error) {
      // After closing, the next attempt in another process publishes again what is missing.
      if (closed.aborted) return false;
      tellLog(logger, "warn", `could not publish ${events.length} events of ${runId}: ${messageOf(error)}`);
      return false;
    }
  }
}

/** Sends the events of a run in order, one batch at a time. Events that come meanwhile go with the next batch. */
export class Publisher {
  private readonly send: Send;
  private readonly onIdle: () => void;
  private waiting: Waiting[] = [];
  private sending: Promise<void> | undefined;
  private readonly clock: Clock;
  private sendNow: (() => void) | undefined;

  /** `onIdle` is called whenever there is nothing more to send. */
  constructor(clock: Clock, send: Send, onIdle: () => void = () => {}) {
    this.clock = clock;
    this.send = send;
    this.onIdle = onIdle;
  }

  add(event: NumberedEvent, more?: Repeatable): void {
    this.waiting.push({ event, more });
    this.sending ??= this.drain();
  }

  /** Resolves when everything has been sent. */
  async flush(): Promise<void> {
    while (this.sending !== undefined) {
      this.sendNow?.();
      await this.sending;
    }
  }

  private async drain(): Promise<void> {
    await this.linger();
    while (this.waiting.length > 0) {
      const waiting = this.waiting.filter(({ more }) => more?.isNeeded() !== false);
      this.waiting = [];
      for (const message of inParts(waiting, MESSAGE)) {
        const hasArrived = await this.send(message.map(({ event }) => event));
        if (hasArrived) for (const { more } of message) more?.onSent();
      }
    }
    this.sending = undefined;
    this.onIdle();
  }

  private async linger(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.sendNow = resolve;
    const timer = this.clock.setTimer?.(resolve, LINGER_MS);
    if (timer === undefined) resolve();
    await promise;
    timer?.cancel();
    this.sendNow = undefined;
  }
}

/** 0 for what cannot be written: `send` reports that. */
function sizeOf({ event }: { readonly event: NumberedEvent }): number {
  try {
    return bytesOf(event);
  } catch {
    return 0;
  }
}
