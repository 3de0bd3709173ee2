import type { Clock } from "@ravi/kernel";
import { LIMITS } from "../limits.ts";

/** Counts what a server sends. One that sends without end would keep the process from all other work. */
export class FloodGate {
  private readonly clock: Clock;
  private since: number;
  private bytes = 0;
  private messages = 0;

  constructor(clock: Clock) {
    this.clock = clock;
    this.since = clock.now();
  }

  /** Returns what is wrong if this is too much within a window of time. */
  take({
    bytes = 0,
    messages = 0,
  }: {
    readonly bytes?: number;
    readonly messages?: number;
  }): string | undefined {
    const now = this.clock.now();
    if (now - this.since >= LIMITS.windowMs || now < this.since) {
      this.since = now;
      this.bytes = 0;
      this.messages = 0;
    }
    this.bytes += bytes;
    this.messages += messages;
    const seconds = LIMITS.windowMs / 1_000;
    if (this.messages > LIMITS.windowMessages)
      return `it sent more than ${LIMITS.windowMessages} messages within ${seconds} s`;
    if (this.bytes > LIMITS.windowBytes)
      return `it sent more than ${LIMITS.windowBytes} bytes within ${seconds} s`;
    return undefined;
  }
}

export const TOO_LONG = `it sent a message of more than ${LIMITS.messageBytes} bytes`;
