import { type CancellationToken, type Clock, InvalidValueError, type TimerHandle } from "@ravi/kernel";

export interface Delay<T> {
  readonly promise: Promise<T>;
  cancel(): void;
}

/** What may end a wait before it is over. */
export interface Stoppable {
  readonly token: CancellationToken;
  readonly suspension: Error | undefined;
}

/** A promise, or the end of the run if that comes first. Nothing is left behind either way. */
export async function orStopped<T>(engine: Stoppable, promise: Promise<T> | Delay<T>): Promise<T> {
  const work = promise instanceof Promise ? { promise, cancel: () => {} } : promise;
  const { promise: stopped, reject } = Promise.withResolvers<never>();
  // A suspension cancels the token too, and is the reason that counts.
  const unlisten = engine.token.onCancel((error) => reject(engine.suspension ?? error));
  try {
    return await Promise.race([work.promise, stopped]);
  } finally {
    unlisten();
    work.cancel();
  }
}

export function delay(clock: Clock, milliseconds: number): Delay<void> {
  if (clock.setTimer === undefined) {
    throw new InvalidValueError({
      field: "clock.setTimer",
      value: undefined,
      expected: "a clock with timers, to wait for a time",
    });
  }
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer: TimerHandle = clock.setTimer(resolve, milliseconds);
  return { promise, cancel: () => timer.cancel() };
}
