import type { Clock, TimerHandle } from "../core/clock.ts";
import type { AbortSignalLike } from "../core/types.ts";
import { ProviderError } from "../errors/errors.ts";
import type { RaviError } from "../errors/base.ts";
import type { CallOptions } from "../model/llm.ts";
import { cancellationOf } from "../run/cancellation.ts";

/** One call under way: it ends when its caller aborts, and when the server is silent for too long. */
export interface ProviderCall {
  /** For the client; it closes the connection. */
  readonly signal: AbortSignalLike;
  /** Why the call was ended from this side; undefined while it was not. */
  readonly stopped: RaviError | undefined;
  /** What the server does next. Rejects as soon as the call is stopped, also where the promise never settles. */
  wait<T>(promise: PromiseLike<T>): Promise<T>;
  /** The answer was read to its end: the connection may serve the next request. */
  complete(): void;
  /** Ends the connection, unless the answer was read to its end, and leaves neither timer nor listener behind. */
  close(): void;
}

/** The platform's own timers: `globalThis` fits. */
export interface PlatformTimers {
  setTimeout(callback: () => void, delayMs: number): unknown;
  clearTimeout(timer: unknown): void;
}

export interface ProviderCallSetup {
  readonly provider: string;
  readonly model: string;
  readonly idleTimeoutMs: number;
  readonly clock: Clock;
  /** For a clock without timers of its own. */
  readonly timers: PlatformTimers;
}

/** Begins one call: it ends at the caller's abort, or when the server is silent for too long, whichever comes first. */
export function startCall(options: CallOptions | undefined, setup: ProviderCallSetup): ProviderCall {
  const caller = options?.signal;
  const controller = new AbortController();
  let stopped: RaviError | undefined;
  let completed = false;
  let giveUp: ((reason: RaviError) => void) | undefined;

  const stop = (reason: RaviError): void => {
    if (stopped !== undefined) return;
    stopped = reason;
    giveUp?.(reason);
    controller.abort(reason);
  };
  const watch = silenceWatch(setup, () => stop(silence(setup)));
  const onAbort = (): void => {
    if (caller !== undefined) stop(cancellationOf(caller));
  };
  if (caller?.aborted === true) onAbort();
  else caller?.addEventListener("abort", onAbort, { once: true });

  return {
    signal: controller.signal,
    get stopped() {
      return stopped;
    },
    // No race with one long-lived promise: it would remember every piece of a stream.
    async wait(promise) {
      try {
        return await new Promise((resolve, reject) => {
          promise.then(resolve, reject);
          if (stopped !== undefined) {
            reject(stopped);
            return;
          }
          giveUp = reject;
          watch.begin();
        });
      } finally {
        giveUp = undefined;
        watch.rest();
      }
    },
    complete() {
      completed = true;
    },
    close() {
      watch.stop();
      caller?.removeEventListener("abort", onAbort);
      if (!completed) controller.abort(stopped);
    },
  };
}

function silence({ provider, model, idleTimeoutMs }: ProviderCallSetup): RaviError {
  const message = `${provider}/${model}: nothing came for ${idleTimeoutMs} ms (idleTimeoutMs)`;
  return new ProviderError({ kind: "TIMEOUT", provider, model, message });
}

interface SilenceWatch {
  begin(): void;
  rest(): void;
  stop(): void;
}

/** One timer that is set anew when it fires early, so that most pieces of a stream cost no timer at all. */
function silenceWatch(
  { idleTimeoutMs, clock, timers }: ProviderCallSetup,
  onSilence: () => void,
): SilenceWatch {
  let timer: TimerHandle | undefined;
  /** When the silence has lasted too long; undefined while nobody waits for the server. */
  let due: number | undefined;
  const arm = (delayMs: number): void => {
    timer = setTimer(clock, timers, onTimer, delayMs);
  };
  const onTimer = (): void => {
    timer = undefined;
    if (due === undefined) return;
    const left = due - clock.now();
    if (left <= 0) onSilence();
    // A clock that was set back must not make the wait longer.
    else arm(Math.min(left, idleTimeoutMs));
  };
  return {
    begin() {
      due = clock.now() + idleTimeoutMs;
      if (timer === undefined) arm(idleTimeoutMs);
    },
    rest() {
      due = undefined;
    },
    stop() {
      timer?.cancel();
      timer = undefined;
    },
  };
}

const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

function setTimer(clock: Clock, timers: PlatformTimers, callback: () => void, delayMs: number): TimerHandle {
  if (clock.setTimer !== undefined) return clock.setTimer(callback, delayMs);
  const timer = timers.setTimeout(callback, Math.min(delayMs, LONGEST_TIMEOUT_MS));
  return { cancel: () => timers.clearTimeout(timer) };
}
