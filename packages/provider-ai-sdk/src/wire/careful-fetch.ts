type Fetch = typeof globalThis.fetch;

/**
 * A `fetch` to hand to a provider of the AI SDK, around the platform's own or the one that is given. It follows no redirect:
 * that would take the prompt, and a key in a header of the provider's own such as `x-api-key`, to wherever it leads.
 */
export function carefulFetch(fetch?: Fetch): Fetch {
  return async (input, init) => {
    // The global one is looked up at each call, as whoever replaces it expects.
    const response = await (fetch ?? globalThis.fetch)(input, { ...init, redirect: "manual" });
    const { status } = response;
    // Where the platform hides a redirect, its status is 0.
    if (status !== 0 && (status < 300 || status >= 400 || status === 304)) return response;
    await response.body?.cancel().catch(() => undefined);
    throw new RedirectedRequest(status);
  };
}

/** The server sent the request elsewhere. It was not followed there. */
export class RedirectedRequest extends Error {
  readonly status: number | undefined;
  constructor(status: number) {
    super(
      `the server redirects${status === 0 ? "" : ` (${status})`}; redirects are not followed, so that no key is sent elsewhere: set the provider's baseURL to where it leads`,
    );
    this.name = "RedirectedRequest";
    this.status = status === 0 ? undefined : status;
  }
}
