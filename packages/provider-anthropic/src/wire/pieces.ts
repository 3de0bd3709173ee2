import { BrokenConnection, OversizedAnswer, type ProviderCall } from "@ravi/kernel/provider";

/** A body, piece by piece. Who leaves early has read all that matters. */
export async function* readPieces(
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
    // Whether or not the other side could be told, nobody reads it any more.
    if (isRead || (await endsAtOnce(reader))) call.complete();
    else reader.cancel().catch(() => undefined);
  }
}

/** The end of a body mostly comes along with its last event; then the connection can serve the next request. */
function endsAtOnce(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<boolean> {
  return new Promise((resolve) => {
    reader.read().then(
      ({ done }) => resolve(done),
      () => resolve(false),
    );
    setImmediate(() => resolve(false));
  });
}
