import type { AbortSignalLike } from "../core/types.ts";

type Callback = () => void;

/** All callbacks on one signal, behind a single listener. */
class AbortListeners {
  readonly callbacks = new Set<Callback>();
  private readonly signal: AbortSignalLike;
  private readonly listener: Callback;

  constructor(signal: AbortSignalLike) {
    this.signal = signal;
    // Assigned to a constant first: see docs/decisions/0012.
    const listener = (): void => this.callAll();
    this.listener = listener;
    signal.addEventListener("abort", listener, { once: true });
  }

  remove(callback: Callback): void {
    // Does nothing when called again.
    if (!this.callbacks.delete(callback) || this.callbacks.size > 0) return;
    listenersBySignal.delete(this.signal);
    this.signal.removeEventListener("abort", this.listener);
  }

  private callAll(): void {
    listenersBySignal.delete(this.signal);
    const failures: unknown[] = [];
    for (const callback of this.callbacks) {
      // A callback that throws must not keep the others from being called, as with the signal's own listeners.
      try {
        callback();
      } catch (failure) {
        failures.push(failure);
      }
    }
    if (failures.length === 1) throw failures[0];
    if (failures.length > 1) throw new AggregateError(failures, "several abort callbacks failed");
  }
}

const listenersBySignal = new WeakMap<AbortSignalLike, AbortListeners>();

/**
 * Calls `callback` when the signal aborts; the signal must not be aborted yet. Returns a function that removes the callback. For
 * queues in which thousands may wait on one signal: the platform searches all of a signal's listeners for each that is added or
 * removed, which took 13 seconds for ten thousand.
 */
export function onAbort(signal: AbortSignalLike, callback: Callback): () => void {
  const listeners = listenersBySignal.get(signal) ?? new AbortListeners(signal);
  listenersBySignal.set(signal, listeners);
  listeners.callbacks.add(callback);
  return () => listeners.remove(callback);
}
