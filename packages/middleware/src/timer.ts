import { cancellationOf, type AbortSignalLike, type Clock, type TimerHandle } from "@ravi/kernel";

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
    await untilAborted(promise, signal);
  } finally {
    timer.cancel();
  }
}

/** Rejects if the signal aborts before the promise settles. A later rejection of the promise does not count as unhandled. */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignalLike): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      promise.catch(() => {});
      reject(cancellationOf(signal));
      return;
    }
    const stop = (): void => reject(cancellationOf(signal));
    const leave = (): void => signal.removeEventListener("abort", stop);
    signal.addEventListener("abort", stop, { once: true });
    promise.finally(leave).then(resolve, reject);
  });
}
