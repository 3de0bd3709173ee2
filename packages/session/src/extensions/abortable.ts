import { type AbortSignalLike, cancellationOf, isPromiseLike, type MaybePromise } from "@ravi/kernel";

/**
 * Waits for `work`, or rejects with the cancellation if the signal aborts first: foreign code that never settles must not block
 * the turn.
 */
export async function abortable<T>(work: MaybePromise<T>, signal: AbortSignalLike | undefined): Promise<T> {
  if (!isPromiseLike(work)) return work;
  if (signal === undefined) return work;
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const stop = (): void => reject(cancellationOf(signal));
  work.then(resolve, reject);
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  try {
    return await promise;
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
