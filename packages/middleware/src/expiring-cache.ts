import { LRUCache } from "lru-cache";

/** A bounded store whose entries expire by the clock of whoever asks: that may be a virtual one. */
export interface ExpiringCache<V extends object> {
  get(key: string, now: number): V | undefined;
  set(key: string, value: V, now: number): void;
}

export function expiringCache<V extends object>(options: {
  readonly maxEntries: number;
  readonly ttlMs: number;
}): ExpiringCache<V> {
  const entries = new LRUCache<string, { readonly value: V; readonly expires: number }>({
    max: options.maxEntries,
  });
  return {
    get(key, now) {
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      if (now < entry.expires) return entry.value;
      entries.delete(key);
      return undefined;
    },
    set(key, value, now) {
      entries.set(key, { value, expires: now + options.ttlMs });
    },
  };
}
