import type { HookSource } from "../types.ts";

/**
 * The sources that an observer listens to. Attaching to the same source again replaces the first attachment, so that nothing is
 * counted twice.
 */
export class Attachments {
  private readonly sources = new Map<HookSource, () => void>();

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

  detachAll(): void {
    for (const detach of this.sources.values()) detach();
  }
}
