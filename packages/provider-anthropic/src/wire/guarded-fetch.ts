import { untilAborted } from "@ravi/kernel/provider";
import { RedirectedRequest } from "./redirected-request.ts";

type Fetch = typeof globalThis.fetch;

/** Enough of an error's body to understand it. The client would read any length. */
const MAX_REFUSAL_BYTES = 64 * 1024;
const WITHOUT_BODY = new Set([204, 205, 304]);

/** Wraps `fetch`. It follows no redirect, which could send the key and the prompt anywhere, and it ends at once on an abort. */
export function guardedFetch(given: Fetch | undefined): Fetch {
  return async (input, init) => {
    // Looked up at each call, so that a replaced global `fetch` is used.
    const sent = (given ?? globalThis.fetch)(input, { ...init, redirect: "manual" });
    const response = await untilAborted(sent, init?.signal);
    const { status } = response;
    // If the platform hides a redirect, the status is 0.
    if (status === 0 || (status >= 300 && status < 400 && status !== 304)) {
      await response.body?.cancel().catch(() => undefined);
      throw new RedirectedRequest(status);
    }
    if (response.ok) return response;
    const body = WITHOUT_BODY.has(status) ? null : await beginningOf(response);
    return refusal(body, response);
  };
}

/** The response with the text that was read. A status above 599 can be received, but the `Response` constructor refuses it. */
function refusal(body: string | null, { status, headers }: Response): Response {
  if (status <= 599) return new Response(body, { status, headers });
  return Object.defineProperty(new Response(body, { status: 500, headers }), "status", { value: status });
}

/** With a reader: in Safari a body cannot be iterated. */
async function beginningOf(response: Response): Promise<string> {
  const reader: ReadableStreamDefaultReader<Uint8Array> | undefined = response.body?.getReader();
  if (reader === undefined) return "";
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  try {
    while (size < MAX_REFUSAL_BYTES) {
      const { value } = await reader.read();
      if (value === undefined) return text;
      text += decoder.decode(value, { stream: true });
      size += value.length;
    }
  } catch {
    // The status says more than the missing rest of the text.
    return text;
  }
  await reader.cancel().catch(() => undefined);
  return text;
}
