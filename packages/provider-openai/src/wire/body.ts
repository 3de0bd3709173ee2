import { BrokenConnection, OversizedAnswer, type ProviderCall } from "@ravi/kernel/provider";

/** The body of an answer, piece by piece. */
export interface Body {
  /** Undefined at the end. */
  next(): Promise<Uint8Array | undefined>;
  /** Everything worth reading was read. A connection that then ends as well is kept for the next request. */
  leave(): void;
}

export function openBody(response: Response, call: ProviderCall, maxBytes: number): Body {
  const reader: ReadableStreamDefaultReader<Uint8Array> | undefined = response.body?.getReader();
  let size = 0;
  const cancel = (): void => {
    // Whether or not the connection could be told, nobody reads it any more.
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
      // The end of the body mostly comes along with the last event. If it does not at once, the connection is given up.
      let ended = false;
      reader.read().then(
        ({ done }) => {
          ended = done;
        },
        () => undefined,
      );
      setImmediate(() => {
        if (!ended) cancel();
      });
    },
  };
}

/** The whole body as text. */
export async function readText(body: Body): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for (let piece = await body.next(); piece !== undefined; piece = await body.next()) {
    text += decoder.decode(piece, { stream: true });
  }
  return text + decoder.decode();
}
