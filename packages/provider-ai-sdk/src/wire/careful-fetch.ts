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
    const { status } = response;
    // If the platform hides a redirect, the status is 0.
    if (status !== 0 && (status < 300 || status >= 400 || status === 304)) return response;
    await response.body?.cancel().catch(() => undefined);
    throw new RedirectedRequest(status);
  };
}

/** The server redirected the request, and the redirect was not followed. */
export class RedirectedRequest extends Error {
  readonly status: number | undefined;
  constructor(status: number) {
    super(
      `the server redirects${status === 0 ? "" : ` (${status})`}; redirects are not followed, so that the key is not sent to another server: set the provider's baseURL to the address it redirects to`,
    );
    this.name = "RedirectedRequest";
    this.status = status === 0 ? undefined : status;
  }
}
