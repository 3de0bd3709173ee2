import type { AbortSignalLike } from "../core/types.ts";

/** A promise that also ends when the signal does: a `fetch` that is deaf to it would keep its client, and the process, alive. */
export function untilAborted<T>(
  promise: PromiseLike<T>,
  signal: AbortSignalLike | null | undefined,
): Promise<T> {
  return new Promise((resolve, reject) => {
    // By this name the official clients know that it was their own signal.
    const onAbort = (): void =>
      reject(Object.assign(new Error("the request was aborted"), { name: "AbortError" }));
    const forget = (): void => signal?.removeEventListener("abort", onAbort);
    if (signal?.aborted === true) onAbort();
    else signal?.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).then(forget, forget);
  });
}
