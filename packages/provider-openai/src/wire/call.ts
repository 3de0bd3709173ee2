import {
  type AbortSignalLike,
  type CallOptions,
  cancellationOf,
  type Clock,
  type RaviError,
  type TimerHandle,
} from "@ravi/kernel";

/** One request under way: it ends when its caller aborts, and when the server is silent for too long. */
export interface Call {
  /** Closes the connection. */
  readonly signal: AbortSignalLike;
  /** Why the call was ended from this side; undefined while it was not. */
  readonly stopped: RaviError | undefined;
  /** What the server does next. Rejects as soon as the call is stopped, also where the promise never settles. */
  wait<T>(promise: PromiseLike<T>): Promise<T>;
  /** Ends the connection, unless the answer was read to its end, and leaves neither timer nor listener behind. */
  close(): void;
  /** The answer was read to its end: the connection may serve the next request. */
  complete(): void;
}

export interface CallSetup {
  readonly idleTimeoutMs: number;
  readonly clock: Clock;
  readonly timeout: () => RaviError;
}

export function startCall(options: CallOptions | undefined, setup: CallSetup): Call {
  const { idleTimeoutMs, clock, timeout } = setup;
  const outer = options?.signal;
  const controller = new AbortController();
  let stopped: RaviError | undefined;
  let completed = false;
  let timer: TimerHandle | undefined;
  /** When the silence has lasted too long; undefined while nobody waits for the server. */
  let due: number | undefined;
  let giveUp: ((reason: RaviError) => void) | undefined;

  const stop = (reason: RaviError): void => {
    if (stopped !== undefined) return;
    stopped = reason;
    giveUp?.(reason);
    controller.abort(reason);
  };
  const onAbort = (): void => {
    if (outer !== undefined) stop(cancellationOf(outer));
  };
  // One timer that is set anew when it fires early: most pieces of a stream then cost no timer at all.
  const onTimer = (): void => {
    timer = undefined;
    if (due === undefined) return;
    const left = due - clock.now();
    if (left <= 0) stop(timeout());
    else arm(left);
  };
  const arm = (delayMs: number): void => {
    timer = setTimer(clock, onTimer, Math.min(delayMs, idleTimeoutMs));
  };

  if (outer?.aborted === true) onAbort();
  else outer?.addEventListener("abort", onAbort, { once: true });

  return {
    signal: controller.signal,
    get stopped() {
      return stopped;
    },
    async wait(promise) {
      try {
        return await new Promise((resolve, reject) => {
          promise.then(resolve, reject);
          if (stopped !== undefined) {
            reject(stopped);
            return;
          }
          giveUp = reject;
          due = clock.now() + idleTimeoutMs;
          if (timer === undefined) arm(idleTimeoutMs);
        });
      } finally {
        giveUp = undefined;
        due = undefined;
      }
    },
    complete() {
      completed = true;
    },
    close() {
      timer?.cancel();
      timer = undefined;
      outer?.removeEventListener("abort", onAbort);
      if (!completed) controller.abort(stopped);
    },
  };
}

const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

function setTimer(clock: Clock, callback: () => void, delayMs: number): TimerHandle {
  if (clock.setTimer !== undefined) return clock.setTimer(callback, delayMs);
  const timer = setTimeout(callback, Math.min(delayMs, LONGEST_TIMEOUT_MS));
  return { cancel: () => clearTimeout(timer) };
}
