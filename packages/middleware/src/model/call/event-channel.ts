import type { ModelEvent } from "@ravi/kernel";

/** Passes events from a producer to one reader, at the reader's pace. */
export interface EventChannel {
  /** Returns a promise only if the buffer is full; it resolves when there is room for more. */
  push(event: ModelEvent): Promise<void> | undefined;
  close(): void;
  fail(error: unknown): void;
  next(): Promise<IteratorResult<ModelEvent, undefined>>;
  /** The reader has gone: a waiting producer continues, and further events are dropped. */
  drop(): void;
}

/** How many events are buffered before the producer has to wait. */
const ROOM = 64;

export function eventChannel(): EventChannel {
  const waiting: ModelEvent[] = [];
  const readers: PromiseWithResolvers<IteratorResult<ModelEvent, undefined>>[] = [];
  let room: PromiseWithResolvers<void> | undefined;
  let ended: { readonly error: unknown } | "closed" | undefined;
  let isDropped = false;

  const free = (): void => {
    room?.resolve();
    room = undefined;
  };
  const end = (how: NonNullable<typeof ended>): void => {
    ended ??= how;
    for (const reader of readers.splice(0)) {
      if (ended === "closed") reader.resolve({ done: true, value: undefined });
      else reader.reject(takeError(ended));
    }
  };
  /** The error is thrown once. Further reads are at the end of the stream. */
  const takeError = ({ error }: { readonly error: unknown }): unknown => {
    ended = "closed";
    return error;
  };
  return {
    push(event) {
      if (isDropped || ended !== undefined) return undefined;
      const reader = readers.shift();
      if (reader !== undefined) {
        reader.resolve({ done: false, value: event });
        return undefined;
      }
      waiting.push(event);
      if (waiting.length < ROOM) return undefined;
      room ??= Promise.withResolvers();
      return room.promise;
    },
    close: () => end("closed"),
    fail: (error) => end({ error }),
    async next() {
      const event = waiting.shift();
      if (event !== undefined) {
        if (waiting.length < ROOM / 2) free();
        return { done: false, value: event };
      }
      if (isDropped || ended === "closed") return { done: true, value: undefined };
      if (ended !== undefined) throw takeError(ended);
      const reader = Promise.withResolvers<IteratorResult<ModelEvent, undefined>>();
      readers.push(reader);
      return reader.promise;
    },
    drop() {
      isDropped = true;
      waiting.length = 0;
      free();
      end("closed");
    },
  };
}
