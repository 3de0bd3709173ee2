import { InvalidValueError } from "@ravi/kernel";
import { untilAborted } from "@ravi/kernel/provider";
import { wholeCharacters } from "./whole-characters.ts";

type Fetch = typeof globalThis.fetch;

/** Enough of an error's body to understand it. */
const MAX_ERROR_BYTES = 64 * 1024;
const BODILESS = new Set([204, 205, 304]);

/**
 * Sends no half characters. Follows no redirect: `fetch` would take a key that is in a header of its own, and the prompt, to wherever it is sent. Of an
 * error's body only the beginning is read, because the client reads what it gets to the end.
 */
export function guardedFetch(fetch: Fetch | undefined): Fetch {
  return async (input, init) => {
    const body = typeof init?.body === "string" ? { body: wholeCharacters(init.body) } : {};
    // Looked up at each call, as whoever replaces the global one expects.
    const sent = (fetch ?? globalThis.fetch)(input, { ...init, ...body, redirect: "manual" });
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
    const said = await beginningOf(response);
    return refusal(BODILESS.has(response.status) ? null : said, response);
  };
}

/** The answer with what was read of it. A status that is none of HTTP's can be received, but no `Response` made with it. */
function refusal(body: string | null, { status, headers }: Response): Response {
  if (status <= 599) return new Response(body, { status, headers });
  return Object.defineProperty(new Response(body, { status: 500, headers }), "status", { value: status });
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
