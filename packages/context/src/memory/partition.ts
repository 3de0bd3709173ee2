import type { JsonObject, MemoryItem } from "@ravi/kernel";
import { isSingle, keywordsOf } from "./words.ts";

interface Kept {
  readonly item: MemoryItem;
  readonly words: ReadonlySet<string>;
}

const NONE: ReadonlySet<string> = new Set();

/** What is remembered for one user. Rare words weigh more than common ones: they say what a text is about. */
export class Partition {
  private readonly items = new Map<string, Kept>();
  private readonly byWord = new Map<string, Set<string>>();
  private readonly byKey = new Map<string, MemoryItem>();

  get size(): number {
    return this.items.size;
  }

  /** The one that was kept under that key before, if there is one. */
  keptAs(metadata: JsonObject | undefined): MemoryItem | undefined {
    const key = metadata?.["key"];
    return typeof key === "string" ? this.byKey.get(key) : undefined;
  }

  add(item: MemoryItem): void {
    const words = keywordsOf(item.text);
    this.items.set(item.id, { item, words });
    for (const word of words) {
      const ids = this.byWord.get(word);
      if (ids === undefined) this.byWord.set(word, new Set([item.id]));
      else ids.add(item.id);
    }
    const key = item.metadata?.["key"];
    if (typeof key === "string") this.byKey.set(key, item);
  }

  has(id: string): boolean {
    return this.items.has(id);
  }

  remove(id: string): void {
    const kept = this.items.get(id);
    if (kept === undefined) return;
    this.items.delete(id);
    for (const word of kept.words) {
      const ids = this.byWord.get(word);
      ids?.delete(id);
      if (ids?.size === 0) this.byWord.delete(word);
    }
    const key = kept.item.metadata?.["key"];
    if (typeof key === "string") this.byKey.delete(key);
  }

  /** The one that has been kept the longest. */
  oldest(): string | undefined {
    for (const id of this.items.keys()) return id;
    return undefined;
  }

  /** The most fitting first, the newest among equals. What shares no word with the question is not recalled. */
  find(query: string, limit: number): readonly MemoryItem[] {
    const scores = new Map<string, number>();
    const words = [...keywordsOf(query)];
    const bySingle = this.idsOfSingles(words.filter(isSingle));
    for (const word of words) {
      const ids = bySingle.get(word) ?? this.byWord.get(word) ?? NONE;
      if (ids.size === 0) continue;
      const weight = Math.log(1 + this.items.size / ids.size);
      for (const id of ids) scores.set(id, (scores.get(id) ?? 0) + weight);
    }
    const order = [...this.items.keys()];
    const place = new Map(order.map((id, at) => [id, at]));
    return [...scores]
      .toSorted(([a, one], [b, two]) => two - one || (place.get(b) ?? 0) - (place.get(a) ?? 0))
      .slice(0, limit)
      .flatMap(([id]) => this.items.get(id)?.item ?? []);
  }

  /**
   * A single character is looked for in all pairs: texts that have more than one are kept by those. All of them at once, as a
   * question may have thousands.
   */
  private idsOfSingles(singles: readonly string[]): ReadonlyMap<string, ReadonlySet<string>> {
    const found = new Map(singles.map((single) => [single, new Set<string>()]));
    if (found.size === 0) return found;
    for (const [word, ids] of this.byWord) {
      for (const character of word) {
        const all = found.get(character);
        if (all !== undefined) for (const id of ids) all.add(id);
      }
    }
    return found;
  }
}
