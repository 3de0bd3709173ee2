import type { Clock } from "../../core/clock.ts";
import { InvalidValueError } from "../../errors/errors.ts";
import type { CancellationToken } from "../../run/cancellation.ts";

/** Waits for `delayMs`. Rejects when cancelled. Leaves no timer and no listener behind. */
export function sleep(clock: Clock, delayMs: number, cancellation: CancellationToken): Promise<void> {
  if (delayMs <= 0) return Promise.resolve(cancellation.check());
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = startTimer(clock, delayMs, () => resolve());
  const unlisten = cancellation.onCancel(reject);
  return promise.finally(() => {
    timer.cancel();
    unlisten();
  });
}

/** Waits for a promise, until cancelled or (with `limit`) until the time is up. */
export function waitWithin<T>(
  promise: Promise<T>,
  cancellation: CancellationToken,
  limit?: { readonly clock: Clock; readonly delayMs: number; readonly late: () => Error } | undefined,
): Promise<T> {
  const { promise: outer, resolve, reject } = Promise.withResolvers<T>();
  promise.then(resolve, reject);
  const unlisten = cancellation.onCancel(reject);
  const timer =
    limit === undefined ? undefined : startTimer(limit.clock, limit.delayMs, () => reject(limit.late()));
  return outer.finally(() => {
    timer?.cancel();
    unlisten();
  });
}

function startTimer(clock: Clock, delayMs: number, callback: () => void): { cancel(): void } {
  return timersOf(clock)(callback, delayMs);
}

/**
 * A time limit in milliseconds. To be called before anything is started: throws if the number is not valid, or if the clock has
 * no timers to keep it.
 */
export function timeLimitOf(field: string, seconds: number | undefined, clock: Clock): number | undefined {
  if (seconds === undefined) return undefined;
  if (!(Number.isFinite(seconds) && seconds > 0))
    throw new InvalidValueError({ field, value: seconds, expected: "a number of seconds greater than 0" });
  timersOf(clock);
  return seconds * 1000;
}

function timersOf(clock: Clock): NonNullable<Clock["setTimer"]> {
  if (clock.setTimer !== undefined) return clock.setTimer.bind(clock);
  throw new InvalidValueError({
    field: "clock.setTimer",
    value: undefined,
    expected: "a clock with timers, because this call waits (the default clock of the kernel has none)",
  });
}
