import { refuseRedirect } from "@ravi/kernel/provider";

type Fetch = typeof globalThis.fetch;

/**
 * A `fetch` for a provider of the AI SDK, as in `createAnthropic({ fetch: carefulFetch() })`. It wraps the given `fetch`, or the
 * global one. A redirect is not followed but throws: it would send the prompt, and a key in a custom header such as `x-api-key`, to
 * another address.
 */
export function carefulFetch(fetch?: Fetch): Fetch {
  return async (input, init) => {
    // Looked up at each call, so that a replaced global `fetch` is used.
    const response = await (fetch ?? globalThis.fetch)(input, { ...init, redirect: "manual" });
    refuseRedirect(response);
    return response;
  };
}
