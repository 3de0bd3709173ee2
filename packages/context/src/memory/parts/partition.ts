import type { JsonObject, MemoryItem } from "@ravi/kernel";
import { isSingle, keywordsOf } from "./words.ts";

interface IndexedItem {
  readonly item: MemoryItem;
  readonly words: ReadonlySet<string>;
}

const NONE: ReadonlySet<string> = new Set();

/** The memories of one user, indexed by word. Rare words weigh more than common ones, because they say more about a text. */
export class Partition {
  private readonly items = new Map<string, IndexedItem>();
  private readonly byWord = new Map<string, Set<string>>();
  /** Several items have one key if two processes have stored it. */
  private readonly byKey = new Map<string, readonly MemoryItem[]>();
  /** How many items were removed since this was last set to 0. */
  removed = 0;

  get size(): number {
    return this.items.size;
  }

  /** The item with the same `metadata.key`, if there is one; the newest, if there are several. */
  withSameKey(metadata: JsonObject | undefined): MemoryItem | undefined {
    const key = metadata?.["key"];
    return typeof key === "string" ? this.byKey.get(key)?.at(-1) : undefined;
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
    if (typeof key === "string") this.byKey.set(key, [...(this.byKey.get(key) ?? []), item]);
  }

  has(id: string): boolean {
    return this.items.has(id);
  }

  remove(id: string): void {
    const kept = this.items.get(id);
    if (kept === undefined) return;
    this.items.delete(id);
    this.removed++;
    for (const word of kept.words) {
      const ids = this.byWord.get(word);
      ids?.delete(id);
      if (ids?.size === 0) this.byWord.delete(word);
    }
    const key = kept.item.metadata?.["key"];
    if (typeof key !== "string") return;
    const others = this.byKey.get(key)?.filter((other) => other.id !== id) ?? [];
    if (others.length === 0) this.byKey.delete(key);
    else this.byKey.set(key, others);
  }

  /** In the order in which they were added. */
  list(): readonly MemoryItem[] {
    return Array.from(this.items.values(), ({ item }) => item);
  }

  /** The ids of so many items, those that were added first. */
  oldest(count: number): readonly string[] {
    const ids: string[] = [];
    for (const id of this.items.keys()) {
      if (ids.length >= count) break;
      ids.push(id);
    }
    return ids;
  }

  /** The best matches first, and the newest first among equals. Items that share no word with the query are not returned. */
  find(query: string, limit: number): readonly MemoryItem[] {
    const scores = new Map<string, number>();
    const words = [...keywordsOf(query)];
    const bySingle = this.idsBySingle(words.filter(isSingle));
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
   * A single character matches all pairs that contain it, because texts of two or more characters are indexed by pairs. All
   * single characters are looked up in one pass, because a query may have thousands.
   */
  private idsBySingle(singles: readonly string[]): ReadonlyMap<string, ReadonlySet<string>> {
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
