import type * as Timers from "node:timers";
import { platformModules } from "@ravi/kernel/loop";
import { BrokenConnection, OversizedAnswer, type ProviderCall } from "@ravi/kernel/provider";

/** Reads a body piece by piece. A caller that stops early has read everything that matters. */
export async function* bodyPieces(
  response: Response,
  call: ProviderCall,
  maxBytes: number,
): AsyncGenerator<Uint8Array, void> {
  const reader: ReadableStreamDefaultReader<Uint8Array> | undefined = response.body?.getReader();
  if (reader === undefined) return;
  let size = 0;
  let isRead = false;
  try {
    for (;;) {
      const { value } = await call.wait(reader.read());
      isRead = value === undefined;
      if (value === undefined) return;
      size += value.length;
      if (size > maxBytes) throw new OversizedAnswer("the answer", maxBytes);
      yield value;
      if (call.stopped !== undefined) throw call.stopped;
    }
  } catch (error) {
    if (error instanceof OversizedAnswer) throw error;
    throw call.stopped ?? new BrokenConnection(error);
  } finally {
    // Nobody reads it any more, so it does not matter if the cancellation fails.
    if (isRead || (await endsAtOnce(reader))) call.complete();
    else reader.cancel().catch(() => undefined);
  }
}

const modules = platformModules<{ readonly "node:timers": typeof Timers }>();
/** Browsers have no `setImmediate`, and that of an edge runtime may throw. */
const nextTurn = modules.ifAny("node:timers")?.setImmediate ?? setTimeout;

/** Whether the body ends at once. The end usually comes with the last event, and then the connection can be reused. */
function endsAtOnce(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<boolean> {
  return new Promise((resolve) => {
    reader.read().then(
      ({ done }) => resolve(done),
      () => resolve(false),
    );
    nextTurn(() => resolve(false));
  });
}
