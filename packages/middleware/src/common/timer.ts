import type { Clock, TimerHandle } from "@ravi/kernel";
import { withTimers } from "@ravi/kernel/loop";

/** A timer of the clock, or of the platform if the clock has none. */
export function setTimer(clock: Clock, callback: () => void, delayMs: number): TimerHandle {
  return withTimers(clock, globalThis).setTimer(callback, delayMs);
}
