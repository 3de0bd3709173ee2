import { deepFreeze } from "@ravi/kernel";
import { forgetOldest } from "@ravi/kernel/loop";

/** A bounded store whose entries expire. Callers pass the time, which may come from a virtual clock. */
export interface ExpiringCache<V extends object> {
  get(key: string, now: number): V | undefined;
  set(key: string, value: V, now: number): void;
}

/** When it is full, the least recently used entry is dropped. */
export function expiringCache<V extends object>(options: {
  readonly maxEntries: number;
  readonly ttlMs: number;
}): ExpiringCache<V> {
  // A map keeps its insertion order. A used entry is set again, so the least recently used one is first.
  const entries = new Map<string, { readonly value: V; readonly expires: number }>();
  return {
    get(key, now) {
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      entries.delete(key);
      if (now >= entry.expires) return undefined;
      // After the clock was set back, an entry must not stay until the clock gets there again.
      const expires = Math.min(entry.expires, now + options.ttlMs);
      entries.set(key, { value: entry.value, expires });
      return entry.value;
    },
    set(key, value, now) {
      entries.delete(key);
      entries.set(key, { value, expires: now + options.ttlMs });
      forgetOldest(entries, options.maxEntries);
    },
  };
}

/** A frozen copy of plain JSON, safe to hand to several callers. */
export function frozenCopy<V>(value: V): V {
  return deepFreeze(JSON.parse(JSON.stringify(value)) as V);
}
