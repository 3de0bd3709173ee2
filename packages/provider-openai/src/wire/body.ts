import type { Call } from "./call.ts";

/** The body of an answer, piece by piece. */
export interface Body {
  /** Undefined at the end. */
  next(): Promise<Uint8Array | undefined>;
  /** Everything worth reading was read. A connection that then ends as well is kept for the next request. */
  leave(): void;
}

/** What a server sent is more than it may. */
export class OversizedAnswer extends Error {
  constructor(what: string, maxBytes: number) {
    super(`${what} is longer than ${maxBytes} bytes`);
    this.name = "OversizedAnswer";
  }
}

/** The connection broke before the answer was whole. */
export class BrokenConnection extends Error {
  constructor(cause: unknown) {
    super("the connection broke off in the middle of the answer", { cause });
    this.name = "BrokenConnection";
  }
}

export function openBody(response: Response, call: Call, maxBytes: number): Body {
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
