import type { AbortSignalLike, Clock } from "@ravi/kernel";
import { abortable } from "@ravi/kernel/loop";

/** Waits that long. Throws if it is aborted before. */
export async function pause(clock: Clock, delayMs: number, signal: AbortSignalLike): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = clock.setTimer?.(resolve, delayMs);
  try {
    await abortable(promise, signal);
  } finally {
    timer?.cancel();
  }
}
