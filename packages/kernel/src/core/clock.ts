import { uuid } from "./uuid.ts";

export interface TimerHandle {
  cancel(): void;
  /** Whether the timer alone keeps the process alive; a clock without a process has neither. */
  ref?(): void;
  unref?(): void;
}

/**
 * Where time comes from. `now` is in epoch milliseconds. The kernel's default has no timers, because a timer is I/O:
 * without `setTimer` a deadline is checked, but does not fire by itself.
 */
export interface Clock {
  now(): number;
  setTimer?(callback: () => void, delayMs: number): TimerHandle;
}

/** The time of the system, without timers. */
export const systemClock: Clock = Object.freeze({ now: () => Date.now() });

/** Where ids and randomness come from. */
export interface IdSource {
  uuid(): string;
  /** A number in [0, 1). */
  random(): number;
}

/** Random ids and numbers. */
export const systemIds: IdSource = Object.freeze({
  uuid,
  random: () => Math.random(),
});
