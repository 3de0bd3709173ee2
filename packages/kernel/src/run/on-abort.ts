import type { AbortSignalLike } from "../core/types.ts";

type Act = () => void;

/** All callbacks on one signal, behind a single listener. */
class Audience {
  readonly acts = new Set<Act>();
  private readonly signal: AbortSignalLike;
  private readonly hear: Act;

  constructor(signal: AbortSignalLike) {
    this.signal = signal;
    // Assigned to a constant first: see docs/decisions/0012.
    const hear = (): void => this.tell();
    this.hear = hear;
    signal.addEventListener("abort", hear, { once: true });
  }

  leave(act: Act): void {
    // Does nothing when called again.
    if (!this.acts.delete(act) || this.acts.size > 0) return;
    audiences.delete(this.signal);
    this.signal.removeEventListener("abort", this.hear);
  }

  private tell(): void {
    audiences.delete(this.signal);
    const failures: unknown[] = [];
    for (const act of this.acts) {
      // A callback that throws must not keep the others from being called, as with the signal's own listeners.
      try {
        act();
      } catch (failure) {
        failures.push(failure);
      }
    }
    if (failures.length === 1) throw failures[0];
    if (failures.length > 1) throw new AggregateError(failures, "several abort callbacks failed");
  }
}

const audiences = new WeakMap<AbortSignalLike, Audience>();

/**
 * Calls `act` when the signal aborts; the signal must not be aborted yet. Returns a function that removes the callback. For
 * queues in which thousands may wait on one signal: the platform searches all of a signal's listeners for each that is added or
 * removed, which took 13 seconds for ten thousand.
 */
export function onAbort(signal: AbortSignalLike, act: Act): () => void {
  const audience = audiences.get(signal) ?? new Audience(signal);
  audiences.set(signal, audience);
  audience.acts.add(act);
  return () => audience.leave(act);
}
