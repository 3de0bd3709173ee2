import type { AgentRunContext } from "@ravi/kernel";
import { abortable } from "@ravi/kernel/loop";
import { setTimer } from "../common/timer.ts";

/** A run that waits for its turn. */
interface Waiting {
  /** When it may begin. */
  at: number;
  setAlarm(): void;
}

/**
 * When the runs of one group began, and when those that wait may begin: never more than `limit` within any period of `windowMs`.
 */
export class Turns {
  private readonly limit: number;
  private readonly windowMs: number;
  /** Sorted. */
  private readonly times: number[] = [];
  /** In the order of arrival. */
  private readonly waiting: Waiting[] = [];

  constructor(limit: number, windowMs: number) {
    this.limit = limit;
    this.windowMs = windowMs;
  }

  /** How long a run that comes now has to wait for its turn, in milliseconds. None waits longer than `maxWaitMs`. */
  waitAt(now: number, maxWaitMs: number): number {
    this.forget(now);
    this.capAt(now + maxWaitMs);
    const blocking = this.times[this.times.length - this.limit];
    return blocking === undefined ? 0 : Math.max(0, blocking + this.windowMs - now);
  }

  begin(now: number): void {
    this.times.push(now);
  }

  /** Its time is taken before the wait, so that those who wait begin one after the other. One that stops waiting gives its time to the next. */
  async wait(at: number, { clock, signal }: AgentRunContext): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const alarm = (): ReturnType<typeof setTimer> => setTimer(clock, resolve, waiting.at - clock.now());
    const waiting: Waiting = {
      at,
      setAlarm: () => {
        timer.cancel();
        timer = alarm();
      },
    };
    let timer = alarm();
    this.times.push(at);
    this.waiting.push(waiting);
    try {
      await abortable(promise, signal);
      this.waiting.splice(this.waiting.indexOf(waiting), 1);
    } catch (error) {
      this.leave(waiting, clock.now());
      throw error;
    } finally {
      timer.cancel();
    }
  }

  /** Whether no run of the group counts any more. */
  isIdle(now: number): boolean {
    return (this.times.at(-1) ?? -Infinity) <= now - this.windowMs;
  }

  private leave(leaving: Waiting, now: number): void {
    const [, ...behind] = this.waiting.splice(this.waiting.indexOf(leaving));
    this.waiting.push(...behind);
    let free = leaving.at;
    // A time that is past cannot be passed on: who began now would be counted as one that began then.
    if (free >= now && this.times.includes(free)) {
      for (const next of behind) {
        [next.at, free] = [free, next.at];
        next.setAlarm();
      }
    }
    const place = this.times.indexOf(free);
    if (place !== -1) this.times.splice(place, 1);
  }

  private forget(now: number): void {
    const first = this.times.findIndex((time) => time > now - this.windowMs);
    if (first !== 0) this.times.splice(0, first === -1 ? this.times.length : first);
  }

  /**
   * A start time later than possible was recorded before the clock was set back. It must not block until the clock gets there
   * again.
   */
  private capAt(latest: number): void {
    const { times } = this;
    for (let at = times.length - 1; at >= 0 && (times[at] ?? latest) > latest; at--) times[at] = latest;
  }
}
