import type { AbortSignalLike } from "../core/types.ts";
import { CancellationToken } from "./cancellation.ts";

const tokenBySignal = new WeakMap<AbortSignalLike, CancellationToken>();

/**
 * Calls `callback` when the signal aborts; the signal must not be aborted yet. Returns a function that removes the callback. For
 * queues in which thousands may wait on one signal: the platform searches all of a signal's listeners for each that is added or
 * removed, which took 13 seconds for ten thousand. A token has one listener for all of its own.
 */
export function onAbort(signal: AbortSignalLike, callback: () => void): () => void {
  const token = tokenBySignal.get(signal) ?? new CancellationToken(signal);
  tokenBySignal.set(signal, token);
  return token.onCancel(callback);
}
