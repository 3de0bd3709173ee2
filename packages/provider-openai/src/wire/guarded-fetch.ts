import { InvalidValueError } from "@ravi/kernel";
import { isObject, listOf, tryParse, untilAborted, wellFormedJson } from "@ravi/kernel/provider";

type Fetch = typeof globalThis.fetch;

/** Enough of an error's body to understand it. */
const MAX_ERROR_BYTES = 64 * 1024;
const BODILESS = new Set([204, 205, 304]);

/**
 * Wraps `fetch`. It replaces unpaired surrogates in the body. It follows no redirect, since `fetch` would send the prompt, and a
 * key in a custom header, to the new address. Of an error's body it reads only the beginning, because the client would read any
 * length.
 */
export function guardedFetch(fetch: Fetch | undefined): Fetch {
  return async (input, init) => {
    const body = typeof init?.body === "string" ? { body: wellFormedJson(init.body) } : {};
    // Looked up at each call, so that a replaced global `fetch` is used.
    const sent = (fetch ?? globalThis.fetch)(input, { ...init, ...body, redirect: "manual" });
    const response = await untilAborted(sent, init?.signal);
    if (response.ok) return response;
    // If `fetch` hides the redirect, the status is 0.
    if (response.status < 200) {
      throw new InvalidValueError({
        field: "baseURL",
        value: "a URL that is redirected",
        expected: "the URL that it redirects to",
      });
    }
    const said = unwrapped(await beginningOf(response));
    return refusal(BODILESS.has(response.status) ? null : said, response);
  };
}

/** The response with the text that was read. A status above 599 can be received, but the `Response` constructor refuses it. */
function refusal(body: string | null, { status, headers }: Response): Response {
  if (status <= 599) return new Response(body, { status, headers });
  return Object.defineProperty(new Response(body, { status: 500, headers }), "status", { value: status });
}

/** Google wraps its errors in a list, which the client does not look into. */
function unwrapped(body: string): string {
  const [only] = body.startsWith("[") ? listOf(tryParse(body)) : [];
  return isObject(only) ? JSON.stringify(only) : body;
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
    // The status says more than the missing rest of the text.
    return text;
  }
  await reader.cancel().catch(() => undefined);
  return text;
}
