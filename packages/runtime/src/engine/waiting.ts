import { type CancellationToken, type Clock, InvalidValueError, type TimerHandle } from "@ravi/kernel";
import { nextTurn } from "../journal/parts/platform.ts";

/** A promise that can be given up. */
export interface Delay<T> {
  readonly promise: Promise<T>;
  cancel(): void;
}

/** What may stop a wait before it is over. */
export interface Stoppable {
  readonly token: CancellationToken;
  readonly suspension: Error | undefined;
}

/** Waits for `work`, and rejects at once if the run is stopped. Removes its listener, and cancels the work if it can be, in either case. */
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

/** A promise that resolves after that time, unless it is cancelled; then it never settles. */
export function delay(clock: Clock, milliseconds: number): Delay<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const handle = timer(clock, resolve, milliseconds);
  return { promise, cancel: () => handle.cancel() };
}

/** Sets a timer. Throws an `InvalidValueError` if the clock has none. */
export function timer(clock: Clock, callback: () => void, milliseconds: number): TimerHandle {
  if (clock.setTimer !== undefined) return clock.setTimer(callback, milliseconds);
  throw noTimers();
}

export function noTimers(): InvalidValueError {
  const expected = "a function; sleeps and time limits need a clock with timers";
  return new InvalidValueError({ field: "clock.setTimer", value: undefined, expected });
}

/**
 * Waits for one turn of the platform's event loop. With the clock of a test a second may pass in less time, in which no journal can answer.
 */
export function eventLoopTurn(): Promise<void> {
  return new Promise((resolve) => nextTurn(resolve));
}
