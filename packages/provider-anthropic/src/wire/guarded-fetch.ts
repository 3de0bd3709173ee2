import { shortRefusal, untilAborted } from "@ravi/kernel/provider";
import { RedirectedRequest } from "./redirected-request.ts";

type Fetch = typeof globalThis.fetch;

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
    return response.ok ? response : shortRefusal(response, Response);
  };
}
