import type { Clock, TimerHandle } from "@ravi/kernel";
import { type Linked, LinkedList } from "@ravi/kernel/loop";

/** Something that is done periodically. */
export interface Beating extends Linked<Beating> {
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
  private readonly beating = new LinkedList<Beating>();
  private timer: TimerHandle | undefined;
  private isArming = false;

  private constructor(clock: Clock) {
    this.clock = clock;
  }

  static of(clock: Clock): Heartbeats {
    let hearts = Heartbeats.byClock.get(clock);
    if (hearts === undefined) Heartbeats.byClock.set(clock, (hearts = new Heartbeats(clock)));
    return hearts;
  }

  /** Makes it beat once, `EVERY_MS` from now. */
  add(beating: Beating): void {
    this.enqueue(beating);
    if (this.timer !== undefined || this.isArming) return;
    this.isArming = true;
    setImmediate(() => {
      this.isArming = false;
      this.arm();
    });
  }

  /** The same for one that has beaten before. The timer is set at once, because the run has lasted longer than a turn. */
  addAgain(beating: Beating): void {
    this.enqueue(beating);
    this.arm();
  }

  delete(beating: Beating): void {
    this.beating.delete(beating);
    if (!this.beating.isEmpty) return;
    this.timer?.cancel();
    this.timer = undefined;
  }

  private enqueue(beating: Beating): void {
    beating.due = this.clock.now() + EVERY_MS;
    this.beating.add(beating);
  }

  private arm(): void {
    const { first } = this.beating;
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
    for (let each = this.beating.first; each !== undefined; each = this.beating.first) {
      // A beat that is further away than `EVERY_MS` is made now: the clock was set back, and it is not known how long it has waited.
      if (each.due - now > SOON_MS && each.due - now <= EVERY_MS) break;
      this.beating.delete(each);
      each.beat();
    }
  }
}
