import type { AbortSignalLike } from "../core/types.ts";
import { abortable } from "./abortable.ts";
import type { TimerClock } from "./with-timers.ts";

/** Waits that long, for ever if it is Infinity, or rejects as soon as the signal aborts. Leaves neither a timer nor a listener behind. */
export async function sleep(
  clock: TimerClock,
  delayMs: number,
  signal: AbortSignalLike | undefined,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = delayMs === Infinity ? undefined : clock.setTimer(resolve, delayMs);
  try {
    await abortable(promise, signal);
  } finally {
    timer?.cancel();
  }
}
