import { systemClock } from "@ravi/kernel";
import { type TimerClock, withTimers } from "@ravi/kernel/loop";

/** Real time, with timers. A timer keeps the process alive until it fires or is cancelled; `unref` changes that. */
export const wallClock: TimerClock = Object.freeze({
  ...withTimers(systemClock, globalThis),
  // The system's own `now`, because every step asks for the time.
  ...systemClock,
});
