import { refuseRedirect, shortRefusal, untilAborted } from "@ravi/kernel/provider";

type Fetch = typeof globalThis.fetch;

/** Wraps `fetch`. It follows no redirect, which could send the key and the prompt anywhere, and it ends at once on an abort. */
export function guardedFetch(given: Fetch | undefined): Fetch {
  return async (input, init) => {
    // Looked up at each call, so that a replaced global `fetch` is used.
    const sent = (given ?? globalThis.fetch)(input, { ...init, redirect: "manual" });
    const response = await untilAborted(sent, init?.signal);
    refuseRedirect(response);
    return response.ok ? response : shortRefusal(response, Response);
  };
}
