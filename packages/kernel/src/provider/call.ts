import { type PlatformTimers, withTimers } from "../run/with-timers.ts";
import type { Clock, TimerHandle } from "../core/clock.ts";
import type { AbortSignalLike } from "../core/types.ts";
import { ProviderError } from "../errors/errors.ts";
import type { RaviError } from "../errors/base.ts";
import type { CallOptions } from "../model/llm.ts";
import { cancellationOf } from "../run/cancellation.ts";
import { leaveSignal } from "../run/leave-signal.ts";

/** A call in progress. It ends if its caller aborts, or if the server is silent for too long. */
export interface ProviderCall {
  /** To be passed to the HTTP client; aborting it closes the connection. */
  readonly signal: AbortSignalLike;
  /** Why this side ended the call; undefined as long as it has not. */
  readonly stopped: RaviError | undefined;
  /** Waits for the server. Rejects as soon as the call is stopped, even if the promise never settles. */
  wait<T>(promise: PromiseLike<T>): Promise<T>;
  /** Call it once the answer was read to its end, so that `close` keeps the connection for the next request. */
  complete(): void;
  /** Removes the timer and the listener. Aborts the connection, unless `complete` was called. */
  close(): void;
}

export interface ProviderCallSetup {
  readonly provider: string;
  readonly model: string;
  /** How long the server may be silent, in milliseconds. */
  readonly idleTimeoutMs: number;
  readonly clock: Clock;
  /** Used if the clock has no timers. */
  readonly timers: PlatformTimers;
}

/** Starts a call. It ends at the caller's abort or when the server is silent for too long, whichever comes first. */
export function startCall(options: CallOptions | undefined, setup: ProviderCallSetup): ProviderCall {
  const caller = options?.signal;
  const controller = new AbortController();
  let completed = false;
  let giveUp: ((reason: RaviError) => void) | undefined;

  const stop = (reason: RaviError): void => {
    if (call.stopped !== undefined) return;
    call.stopped = reason;
    giveUp?.(reason);
    controller.abort(reason);
  };
  const watch = silenceWatch(setup, () => stop(silence(setup)));
  const onAbort = (): void => {
    if (caller !== undefined) stop(cancellationOf(caller));
  };
  const call = {
    signal: controller.signal,
    stopped: undefined as RaviError | undefined,
    // Not a `Promise.race` with one long-lived promise: that would keep every piece of a stream in memory.
    async wait<T>(promise: PromiseLike<T>): Promise<T> {
      try {
        return await new Promise<T>((resolve, reject) => {
          promise.then(resolve, reject);
          if (call.stopped !== undefined) {
            reject(call.stopped);
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
    complete(): void {
      completed = true;
    },
    close(): void {
      watch.stop();
      if (caller !== undefined) leaveSignal(caller, onAbort);
      if (!completed) controller.abort(call.stopped);
    },
  };
  if (caller?.aborted === true) onAbort();
  else caller?.addEventListener("abort", onAbort, { once: true });
  return call;
}

function silence({ provider, model, idleTimeoutMs }: ProviderCallSetup): RaviError {
  const message = `${provider}/${model}: the server sent nothing for ${idleTimeoutMs} ms (idleTimeoutMs)`;
  return new ProviderError({ kind: "TIMEOUT", provider, model, message });
}

interface SilenceWatch {
  begin(): void;
  rest(): void;
  stop(): void;
}

/** One timer, set again when it fires too early, so that most pieces of a stream need no timer. */
function silenceWatch(
  { idleTimeoutMs, clock, timers }: ProviderCallSetup,
  onSilence: () => void,
): SilenceWatch {
  const timed = withTimers(clock, timers);
  let timer: TimerHandle | undefined;
  /** When the silence will have lasted too long, in epoch milliseconds; undefined while nothing waits for the server. */
  let due: number | undefined;
  const arm = (delayMs: number): void => {
    timer = timed.setTimer(onTimer, delayMs);
  };
  const onTimer = (): void => {
    timer = undefined;
    if (due === undefined) return;
    const left = due - clock.now();
    if (left <= 0) onSilence();
    // If the clock was set back, the wait must not become longer.
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
