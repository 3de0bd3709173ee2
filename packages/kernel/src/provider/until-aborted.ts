import type { AbortSignalLike } from "../core/types.ts";
import { abortable } from "../run/abortable.ts";

/**
 * A promise that rejects when the signal aborts. A `fetch` that ignores its signal would otherwise keep its caller, and the
 * process, alive.
 */
export function untilAborted<T>(
  promise: PromiseLike<T>,
  signal: AbortSignalLike | null | undefined,
): Promise<T> {
  return abortable(promise, signal, aborted);
}

/** With the name by which the official clients recognise an abort of their own signal. */
function aborted(): Error {
  return Object.assign(new Error("the request was aborted"), { name: "AbortError" });
}
