import type { AbortSignalLike, Clock, TimerHandle } from "@ravi/kernel";
import { abortable } from "@ravi/kernel/loop";

/** Longer delays overflow the platform's timers, which then fire at once. */
const MAX_DELAY_MS = 2_147_483_647;

/** A timer of the clock, or of the platform if the clock has none, so that a wait or a timeout always ends. */
export function setTimer(clock: Clock, callback: () => void, delayMs: number): TimerHandle {
  return clock.setTimer === undefined ? platformTimer(callback, delayMs) : clock.setTimer(callback, delayMs);
}

function platformTimer(callback: () => void, delayMs: number): TimerHandle {
  let left = delayMs;
  let timer: PlatformTimer;
  const arm = (): void => {
    const part = Math.min(left, MAX_DELAY_MS);
    left -= part;
    timer = setTimeout(left > 0 ? arm : callback, part);
  };
  arm();
  return { cancel: () => clearTimeout(timer) };
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
