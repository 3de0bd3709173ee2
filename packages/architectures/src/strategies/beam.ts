/** A line of thought so far, and how promising it is. */
export interface Path {
  readonly thoughts: readonly string[];
  readonly score: number;
}

/** Keeps the `beam` most promising paths. In a tie the earlier one wins. */
export function prune(paths: readonly Path[], beam: number): readonly Path[] {
  return paths.toSorted((a, b) => b.score - a.score).slice(0, beam);
}
