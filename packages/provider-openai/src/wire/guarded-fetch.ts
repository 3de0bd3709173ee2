import {
  isObject,
  listOf,
  refuseRedirect,
  shortRefusal,
  tryParse,
  untilAborted,
  wellFormedJson,
} from "@ravi/kernel/provider";

type Fetch = typeof globalThis.fetch;

/**
 * Wraps `fetch`. It replaces unpaired surrogates in the body. It follows no redirect, since `fetch` would send the prompt, and a
 * key in a custom header, to the new address. Of an error's body it keeps only the beginning.
 */
export function guardedFetch(fetch: Fetch | undefined): Fetch {
  return async (input, init) => {
    const body = typeof init?.body === "string" ? { body: wellFormedJson(init.body) } : {};
    // Looked up at each call, so that a replaced global `fetch` is used.
    const sent = (fetch ?? globalThis.fetch)(input, { ...init, ...body, redirect: "manual" });
    const response = await untilAborted(sent, init?.signal);
    refuseRedirect(response);
    return response.ok ? response : shortRefusal(response, Response, unwrapped);
  };
}

/** Google wraps its errors in a list, which the client does not look into. */
function unwrapped(body: string): string {
  const [only] = body.startsWith("[") ? listOf(tryParse(body)) : [];
  return isObject(only) ? JSON.stringify(only) : body;
}
