import { untilAborted } from "@ravi/kernel/provider";
import { RedirectedRequest } from "./redirected-request.ts";

type Fetch = typeof globalThis.fetch;

/** Of a refusal no more is read than it takes to understand it; the client would read it to its end. */
const MAX_REFUSAL_BYTES = 64 * 1024;
const WITHOUT_BODY = new Set([204, 205, 304]);

/** A `fetch` that follows no redirect, which could carry the key and the prompt anywhere, and that always hears an abort. */
export function carefulFetch(given: Fetch | undefined): Fetch {
  return async (input, init) => {
    // The global one is looked up at each call, as whoever replaces it expects.
    const sent = (given ?? globalThis.fetch)(input, { ...init, redirect: "manual" });
    const response = await untilAborted(sent, init?.signal);
    const { status } = response;
    // Where the platform hides a redirect, its status is 0.
    if (status === 0 || (status >= 300 && status < 400 && status !== 304)) {
      await response.body?.cancel().catch(() => undefined);
      throw new RedirectedRequest(status);
    }
    if (response.ok) return response;
    const body = WITHOUT_BODY.has(status) ? null : await beginningOf(response);
    return refusal(body, response);
  };
}

/** The answer with what was read of it. A status that is none of HTTP's can be received, but no `Response` made with it. */
function refusal(body: string | null, { status, headers }: Response): Response {
  if (status <= 599) return new Response(body, { status, headers });
  return Object.defineProperty(new Response(body, { status: 500, headers }), "status", { value: status });
}

async function beginningOf(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  const pieces: AsyncIterable<Uint8Array> | null = response.body;
  try {
    // Leaving the loop closes the connection.
    for await (const piece of pieces ?? []) {
      text += decoder.decode(piece, { stream: true });
      size += piece.length;
      if (size >= MAX_REFUSAL_BYTES) break;
    }
  } catch {
    // The status says more than how its text broke off.
  }
  return text;
}
