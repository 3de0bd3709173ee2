import { type AbortSignalLike, isPromiseLike, type MaybePromise } from "../core/types.ts";
import { cancellationOf } from "./cancellation.ts";
import { leaveSignal } from "./leave-signal.ts";

/**
 * Waits for `work`, or rejects as soon as the signal aborts: work that never settles must not keep its caller. What becomes of the
 * work after that is ignored. Leaves no listener behind.
 */
export async function abortable<T>(
  work: MaybePromise<T>,
  signal: AbortSignalLike | null | undefined,
  reasonOf: (signal: AbortSignalLike) => Error = cancellationOf,
): Promise<T> {
  if (!isPromiseLike(work) || signal === undefined || signal === null) return work;
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const stop = (): void => reject(reasonOf(signal));
  work.then(resolve, reject);
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  try {
    return await promise;
  } finally {
    leaveSignal(signal, stop);
  }
}
