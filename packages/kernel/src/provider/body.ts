import { platformModules } from "../core/platform-modules.ts";
import type { PlatformTimers } from "../run/with-timers.ts";
import type { ProviderCall } from "./call.ts";
import { BrokenConnection, OversizedAnswer } from "./faults.ts";

/** Reads the body of an answer piece by piece. */
export interface Body {
  /** The next piece; undefined at the end. Throws if the connection breaks or the answer is too long. */
  next(): Promise<Uint8Array | undefined>;
  /** Nothing more is worth reading. If the body ends now too, its connection is kept for the next request. */
  leave(): void;
}

/** The body of a response of `fetch`, as far as it is needed here; null if there is none. */
export type BodySource = {
  getReader(): {
    read(): PromiseLike<{ readonly value?: Uint8Array | undefined }>;
    cancel(): PromiseLike<unknown>;
  };
} | null;

export interface BodyReading {
  readonly call: ProviderCall;
  readonly maxBytes: number;
  readonly timers: PlatformTimers;
}

/** Opens the body of a response, which may have at most `maxBytes` bytes. It is let go of when the call is closed. */
export function openBody(source: BodySource, { call, maxBytes, timers }: BodyReading): Body {
  const reader = source?.getReader();
  let size = 0;
  const cancel = (): void => {
    // Nobody reads it any more, so it does not matter if the cancellation fails.
    reader?.cancel().then(undefined, () => undefined);
  };
  // The platform's `fetch` heeds the signal of the call; a user's own may not.
  call.signal.addEventListener("abort", cancel, { once: true });
  return {
    async next() {
      if (reader === undefined) return undefined;
      const { value } = await call.wait(reader.read()).catch((error: unknown) => {
        throw call.stopped ?? new BrokenConnection(error);
      });
      if (value === undefined) {
        call.complete();
        return undefined;
      }
      size += value.length;
      if (size > maxBytes) throw new OversizedAnswer("the answer", maxBytes);
      return value;
    },
    leave() {
      if (reader === undefined) return;
      call.complete();
      // The end of the body usually comes with the last event. If it is not there at once, the connection is closed.
      let isEnded = false;
      reader.read().then(
        ({ value }) => {
          isEnded = value === undefined;
        },
        () => undefined,
      );
      nextTurn(timers, () => {
        if (!isEnded) cancel();
      });
    },
  };
}

interface Modules {
  readonly "node:timers": { setImmediate(callback: () => void): unknown };
}

/** Browsers have no `setImmediate`, and that of an edge runtime may throw. */
function nextTurn(timers: PlatformTimers, callback: () => void): void {
  const node = platformModules<Modules>().ifAny("node:timers");
  if (node === undefined) timers.setTimeout(callback, 0);
  else node.setImmediate(callback);
}
