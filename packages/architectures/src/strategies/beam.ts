/** A way of thinking so far, and how promising it is. */
export interface Path {
  readonly thoughts: readonly string[];
  readonly score: number;
}

/** Keeps the most promising ones. Among equals the one that was thought of first. */
export function prune(paths: readonly Path[], beam: number): readonly Path[] {
  return paths.toSorted((a, b) => b.score - a.score).slice(0, beam);
}
