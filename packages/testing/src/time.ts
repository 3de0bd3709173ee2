import { cancellationOf, type AbortSignalLike, type Clock, type TimerHandle } from "@ravi/kernel";

/** A clock that always has timers. */
export interface TimerClock extends Clock {
  setTimer(callback: () => void, delayMs: number): TimerHandle;
}

/** With a longer delay, `setTimeout` fires at once. */
const LONGEST_TIMEOUT_MS = 2_147_483_647;

/** The given clock, with real timers if it has none of its own. */
export function withTimers(clock: Clock | undefined): TimerClock {
  return {
    now: () => clock?.now() ?? Date.now(),
    setTimer: (callback, delayMs) => clock?.setTimer?.(callback, delayMs) ?? realTimer(callback, delayMs),
  };
}

function realTimer(callback: () => void, delayMs: number): TimerHandle {
  const timer = setTimeout(callback, Math.min(delayMs, LONGEST_TIMEOUT_MS));
  return { cancel: () => clearTimeout(timer) };
}

/**
 * Resolves after `delayMs`, or never if that is Infinity. Rejects with a `CancellationError` if the signal aborts first. It
 * leaves no timer and no listener behind.
 */
export function wait(clock: TimerClock, delayMs: number, signal: AbortSignalLike | undefined): Promise<void> {
  let timer: TimerHandle | undefined;
  const due = new Promise<void>((resolve) => {
    if (delayMs < Infinity) timer = clock.setTimer(resolve, delayMs);
  });
  return abortable(due, signal).finally(() => timer?.cancel());
}

/** The outcome of the promise, or a `CancellationError` as soon as the signal aborts; the promise is then ignored. */
export async function abortable<T>(promise: PromiseLike<T>, signal: AbortSignalLike | undefined): Promise<T> {
  if (signal === undefined) return promise;
  let onAbort: (() => void) | undefined;
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(cancellationOf(signal));
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    if (onAbort !== undefined) signal.removeEventListener("abort", onAbort);
  }
}
