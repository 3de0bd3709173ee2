import type { Clock } from "@ravi/kernel";
import { type TimerClock, withTimers } from "@ravi/kernel/loop";

/** Monotonic, unlike the time of day. */
const MONOTONIC: Clock = Object.freeze({ now: () => performance.timeOrigin + performance.now() });

/**
 * The given clock, with real timers if it has none. They keep the process alive, so each must be cancelled when it is not needed any
 * more.
 */
export function timed(clock: Clock = MONOTONIC): TimerClock {
  return withTimers(clock, globalThis);
}
