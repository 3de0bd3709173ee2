import { InvalidValueError } from "@ravi/kernel";
import { untilAborted } from "@ravi/kernel/provider";

type Fetch = typeof globalThis.fetch;

/** Enough of an error's body to understand it. */
const MAX_ERROR_BYTES = 64 * 1024;
const BODILESS = new Set([204, 205, 304]);

/**
 * Follows no redirect: `fetch` would take a key that is in a header of its own, and the prompt, to wherever it is sent. Of an
 * error's body only the beginning is read, because the client reads what it gets to the end.
 */
export function guardedFetch(fetch: Fetch | undefined): Fetch {
  return async (input, init) => {
    // Looked up at each call, as whoever replaces the global one expects.
    const sent = (fetch ?? globalThis.fetch)(input, { ...init, redirect: "manual" });
    const response = await untilAborted(sent, init?.signal);
    if (response.ok) return response;
    // Where `fetch` hides what was redirected, its status is 0.
    if (response.status < 200) {
      throw new InvalidValueError({
        field: "baseURL",
        value: "a URL that is redirected",
        expected: "the URL that it leads to",
      });
    }
    const { status, headers } = response;
    const body = await beginningOf(response);
    return new Response(BODILESS.has(status) ? null : body, { status, headers });
  };
}

type ByteReader = ReadableStreamDefaultReader<Uint8Array>;

async function beginningOf(response: Response): Promise<string> {
  const reader: ByteReader | undefined = response.body?.getReader();
  if (reader === undefined) return "";
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  try {
    for (;;) {
      const { value } = await reader.read();
      if (value === undefined) return text + decoder.decode();
      size += value.length;
      text += decoder.decode(value, { stream: true });
      if (size >= MAX_ERROR_BYTES) break;
    }
  } catch {
    // The status says more than how its text broke off.
    return text;
  }
  await reader.cancel().catch(() => undefined);
  return text;
}
