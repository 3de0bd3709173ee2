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
export function orStopped<T>(engine: Stoppable, work: Promise<T> | Delay<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    let unlisten = (): void => {};
    const leave = (): void => {
      unlisten();
      if ("cancel" in work) work.cancel();
    };
    // A suspension cancels the token too, and is the reason that counts.
    unlisten = engine.token.onCancel((error) => {
      leave();
      reject(engine.suspension ?? error);
    });
    const promise = "cancel" in work ? work.promise : work;
    const andLeave =
      <A>(settle: (value: A) => void) =>
      (value: A): void => {
        leave();
        settle(value);
      };
    promise.then(andLeave(resolve), andLeave(reject));
  });
}

export function delay(clock: Clock, milliseconds: number): Delay<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const handle = timer(clock, resolve, milliseconds);
  return { promise, cancel: () => handle.cancel() };
}

/** A timer of a clock that has them. */
export function timer(clock: Clock, callback: () => void, milliseconds: number): TimerHandle {
  if (clock.setTimer !== undefined) return clock.setTimer(callback, milliseconds);
  throw new InvalidValueError({
    field: "clock.setTimer",
    value: undefined,
    expected: "a clock with timers, to wait for a time",
  });
}

/** A turn of the platform's own loop. On a clock that a test moves on, a second may pass in less, and no journal answers in less. */
export function turnOfLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
