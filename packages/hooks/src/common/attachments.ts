import type { HookSource } from "../types.ts";

/**
 * The sources that an observer listens to. Attaching to the same source again replaces the first attachment, so that nothing is
 * counted twice.
 */
export class Attachments {
  private readonly sources = new Map<HookSource, () => void>();
  /** By payload: who told it first. */
  private readonly told = new WeakMap<object, HookSource>();

  attach(source: HookSource, subscribe: () => readonly (() => void)[]): () => void {
    this.sources.get(source)?.();
    const unsubscribes = subscribe();
    const detach = (): void => {
      for (const unsubscribe of unsubscribes) unsubscribe();
      if (this.sources.get(source) === detach) this.sources.delete(source);
    };
    this.sources.set(source, detach);
    return detach;
  }

  /** Whether another source has told this event, as the hooks of a runtime and of an agent both do. */
  isRepeated(source: HookSource, payload: object): boolean {
    if (this.sources.size < 2) return false;
    const first = this.told.get(payload);
    if (first === undefined) this.told.set(payload, source);
    return first !== undefined && first !== source;
  }

  detachAll(): void {
    for (const detach of this.sources.values()) detach();
  }
}
