import type { Clock, TimerHandle } from "@ravi/kernel";
import { type Linked, LinkedList } from "@ravi/kernel/loop";
import { nextTurn } from "../journal/parts/platform.ts";

/** Something that is done periodically. */
export interface Heartbeat extends Linked<Heartbeat> {
  /** When it is done next, in epoch milliseconds. Set by `Heartbeats`. */
  due: number;
  beat(): void;
}

const EVERY_MS = 15_000;
/** What is due within this time is done at once, so that runs that began together are renewed together. */
const SOON_MS = 500;

/**
 * The heartbeats of all runs with the same clock, on one timer: to set and cancel one for each costs 0.2 µs a run. The timer is set one
 * turn of the event loop later, so that a run that is over by then needs none.
 */
export class Heartbeats {
  private static readonly byClock = new WeakMap<Clock, Heartbeats>();
  private readonly clock: Clock;
  /** In the order in which they are due, since all wait equally long. */
  private readonly queue = new LinkedList<Heartbeat>();
  private timer: TimerHandle | undefined;
  private isArming = false;

  private constructor(clock: Clock) {
    this.clock = clock;
  }

  static of(clock: Clock): Heartbeats {
    let heartbeats = Heartbeats.byClock.get(clock);
    if (heartbeats === undefined) Heartbeats.byClock.set(clock, (heartbeats = new Heartbeats(clock)));
    return heartbeats;
  }

  /** Makes it beat once, `EVERY_MS` from now. */
  add(heartbeat: Heartbeat): void {
    this.enqueue(heartbeat);
    if (this.timer !== undefined || this.isArming) return;
    this.isArming = true;
    nextTurn(() => {
      this.isArming = false;
      this.arm();
    });
  }

  /** The same for one that has beaten before. The timer is set at once, because the run has lasted longer than a turn. */
  addAgain(heartbeat: Heartbeat): void {
    this.enqueue(heartbeat);
    this.arm();
  }

  delete(heartbeat: Heartbeat): void {
    this.queue.delete(heartbeat);
    if (!this.queue.isEmpty) return;
    this.timer?.cancel();
    this.timer = undefined;
  }

  private enqueue(heartbeat: Heartbeat): void {
    heartbeat.due = this.clock.now() + EVERY_MS;
    this.queue.add(heartbeat);
  }

  private arm(): void {
    const { first } = this.queue;
    if (first === undefined || this.timer !== undefined) return;
    const delay = Math.min(EVERY_MS, Math.max(0, first.due - this.clock.now()));
    this.timer = this.clock.setTimer?.(() => {
      this.timer = undefined;
      this.beatAll();
      this.arm();
    }, delay);
    // The timer must not keep the process alive.
    this.timer?.unref?.();
  }

  private beatAll(): void {
    const now = this.clock.now();
    for (let each = this.queue.first; each !== undefined; each = this.queue.first) {
      // A beat that is further away than `EVERY_MS` is made now: the clock was set back, and it is not known how long it has waited.
      if (each.due - now > SOON_MS && each.due - now <= EVERY_MS) break;
      this.queue.delete(each);
      each.beat();
    }
  }
}
