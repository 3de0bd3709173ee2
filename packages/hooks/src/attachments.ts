import type { HookSource } from "./types.ts";

/** Which sources an observer listens on. Attaching again to the same source replaces, so that nothing counts twice. */
export class Attachments {
  private readonly sources = new Map<HookSource, () => void>();

  attach(source: HookSource, subscribe: () => readonly (() => void)[]): () => void {
    this.sources.get(source)?.();
    const leaves = subscribe();
    const detach = (): void => {
      for (const leave of leaves) leave();
      if (this.sources.get(source) === detach) this.sources.delete(source);
    };
    this.sources.set(source, detach);
    return detach;
  }

  detachAll(): void {
    for (const detach of this.sources.values()) detach();
  }
}
