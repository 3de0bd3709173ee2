import { RedirectedRequest } from "./faults.ts";

/** A response of `fetch`, as far as it is needed here. */
export interface Refusal {
  readonly status: number;
  readonly headers: unknown;
  readonly body: {
    cancel(): PromiseLike<unknown>;
    getReader(): {
      read(): PromiseLike<{ readonly value?: Uint8Array | undefined }>;
      cancel(): PromiseLike<unknown>;
    };
  } | null;
}

/** Throws a `RedirectedRequest` if the response is a redirect. If the platform hides it, as browsers do, its status is 0. */
export function refuseRedirect({ status, body }: Refusal): void {
  if (status !== 0 && (status < 300 || status >= 400 || status === 304)) return;
  // Nobody reads it, so it does not matter if the cancellation fails.
  body?.cancel().then(undefined, () => undefined);
  throw new RedirectedRequest(status);
}

/** Enough of a body to understand it. */
const MAX_BYTES = 64 * 1024;

/**
 * The refusal with only the beginning of its body, because a client would read any length. `Response` is the platform's class, and
 * `reword` may change the text.
 */
export async function shortRefusal<R extends Refusal>(
  refusal: R,
  Response: new (body: string | null, init: Pick<R, "status" | "headers">) => R,
  reword: (text: string) => string = (text) => text,
): Promise<R> {
  const { status, headers } = refusal;
  const text = reword(await beginningOf(refusal));
  // A 304 has no body. A status above 599 can be received, but the constructor refuses it.
  if (status <= 599) return new Response(status === 304 ? null : text, { status, headers });
  return Object.defineProperty(new Response(text, { status: 500, headers }), "status", { value: status });
}

/** With a reader: in Safari a body cannot be iterated. */
async function beginningOf({ body }: Refusal): Promise<string> {
  const reader = body?.getReader();
  if (reader === undefined) return "";
  const decoder = new TextDecoder();
  let text = "";
  try {
    for (let size = 0; size < MAX_BYTES;) {
      const { value } = await reader.read();
      if (value === undefined) return text;
      text += decoder.decode(value, { stream: true });
      size += value.length;
    }
    await reader.cancel();
  } catch {
    // The status says more than the missing rest of the text.
  }
  return text;
}
