import type { AbortSignalLike, Clock, TimerHandle } from "@ravi/kernel";
import { abortable, withTimers } from "@ravi/kernel/loop";

/** A timer of the clock, or of the platform if the clock has none. */
export function setTimer(clock: Clock, callback: () => void, delayMs: number): TimerHandle {
  return withTimers(clock, globalThis).setTimer(callback, delayMs);
}

/** Waits for `delayMs`, or rejects as soon as the signal aborts. Leaves neither a timer nor a listener behind. */
export async function sleep(clock: Clock, delayMs: number, signal: AbortSignalLike): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimer(clock, resolve, delayMs);
  try {
    await abortable(promise, signal);
  } finally {
    timer.cancel();
  }
}
