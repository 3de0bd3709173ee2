import type * as Timers from "node:timers";
import { platformModules } from "@ravi/kernel/loop";
import { BrokenConnection, OversizedAnswer, type ProviderCall } from "@ravi/kernel/provider";

/** Reads the body of an answer piece by piece. */
export interface Body {
  /** The next piece; undefined at the end. Throws if the connection breaks or the answer is too long. */
  next(): Promise<Uint8Array | undefined>;
  /** Nothing more is worth reading. If the body ends now too, its connection is kept for the next request. */
  leave(): void;
}

const modules = platformModules<{ readonly "node:timers": typeof Timers }>();
/** Browsers have no `setImmediate`, and that of an edge runtime may throw. */
const nextTurn = modules.ifAny("node:timers")?.setImmediate ?? setTimeout;

/** Opens the body of a response, which may have at most `maxBytes` bytes. */
export function openBody(response: Response, call: ProviderCall, maxBytes: number): Body {
  const reader: ReadableStreamDefaultReader<Uint8Array> | undefined = response.body?.getReader();
  let size = 0;
  const cancel = (): void => {
    // Nobody reads it any more, so it does not matter if the cancellation fails.
    reader?.cancel().catch(() => undefined);
  };
  return {
    async next() {
      if (reader === undefined) return undefined;
      const { value } = await call.wait(reader.read()).catch((error: unknown) => {
        cancel();
        throw call.stopped ?? new BrokenConnection(error);
      });
      if (value === undefined) {
        call.complete();
        return undefined;
      }
      size += value.length;
      if (size <= maxBytes) return value;
      cancel();
      throw new OversizedAnswer("the answer", maxBytes);
    },
    leave() {
      if (reader === undefined) return;
      call.complete();
      // The end of the body usually comes with the last event. If it is not there at once, the connection is closed.
      let ended = false;
      reader.read().then(
        ({ done }) => {
          ended = done;
        },
        () => undefined,
      );
      nextTurn(() => {
        if (!ended) cancel();
      });
    },
  };
}
