import type { AbortSignalLike } from "../core/types.ts";

type Act = () => void;

/** All who listen to one signal, behind one listener of its own. */
class Audience {
  readonly acts = new Set<Act>();
  private readonly signal: AbortSignalLike;
  private readonly hear: Act;

  constructor(signal: AbortSignalLike) {
    this.signal = signal;
    // A constant first: see docs/decisions/0012.
    const hear = (): void => this.tell();
    this.hear = hear;
    signal.addEventListener("abort", hear, { once: true });
  }

  leave(act: Act): void {
    // Again, it does nothing.
    if (!this.acts.delete(act) || this.acts.size > 0) return;
    audiences.delete(this.signal);
    this.signal.removeEventListener("abort", this.hear);
  }

  private tell(): void {
    audiences.delete(this.signal);
    const failures: unknown[] = [];
    for (const act of this.acts) {
      // One that throws keeps nobody else from hearing, as it is with listeners of the signal itself.
      try {
        act();
      } catch (failure) {
        failures.push(failure);
      }
    }
    if (failures.length === 1) throw failures[0];
    if (failures.length > 1) throw new AggregateError(failures, "several who heard of an abort failed");
  }
}

const audiences = new WeakMap<AbortSignalLike, Audience>();

/**
 * Calls `act` when the signal, which is not aborted yet, aborts. Returns how to leave. For lines in which thousands may wait on one
 * signal: the platform looks through all of its listeners for each that comes or goes, 13 seconds for ten thousand.
 */
export function onAbort(signal: AbortSignalLike, act: Act): () => void {
  const audience = audiences.get(signal) ?? new Audience(signal);
  audiences.set(signal, audience);
  audience.acts.add(act);
  return () => audience.leave(act);
}
