import { uuid } from "./uuid.ts";

/** A timer that was started by `Clock.setTimer`. */
export interface TimerHandle {
  cancel(): void;
  /** `ref` and `unref` say whether this timer keeps the process alive, as in Node. Optional: not every platform has them. */
  ref?(): void;
  unref?(): void;
}

/**
 * The source of time. Without `setTimer`, a deadline is checked before each step but does not fire on its own. The kernel's
 * default has no timers, because a timer is I/O.
 */
export interface Clock {
  /** Epoch milliseconds. */
  now(): number;
  /** Calls back once after `delayMs` milliseconds. */
  setTimer?(callback: () => void, delayMs: number): TimerHandle;
}

/** The system's time, without timers. */
export const systemClock: Clock = Object.freeze({ now: () => Date.now() });

/** The source of ids and random numbers. */
export interface IdSource {
  uuid(): string;
  /** A number in [0, 1). */
  random(): number;
}

/** Random UUIDs and `Math.random`. */
export const systemIds: IdSource = Object.freeze({
  uuid,
  random: () => Math.random(),
});
