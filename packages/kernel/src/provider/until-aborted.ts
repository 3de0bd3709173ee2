import type { AbortSignalLike } from "../core/types.ts";

/**
 * A promise that rejects when the signal aborts. A `fetch` that ignores its signal would otherwise keep its caller, and the
 * process, alive.
 */
export function untilAborted<T>(
  promise: PromiseLike<T>,
  signal: AbortSignalLike | null | undefined,
): Promise<T> {
  return new Promise((resolve, reject) => {
    // The name by which the official clients recognise an abort of their own signal.
    const onAbort = (): void =>
      reject(Object.assign(new Error("the request was aborted"), { name: "AbortError" }));
    const forget = (): void => signal?.removeEventListener("abort", onAbort);
    if (signal?.aborted === true) onAbort();
    else signal?.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).then(forget, forget);
  });
}
