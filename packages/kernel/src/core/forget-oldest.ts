/** Keeps a map from growing without end: beyond that size, the entry that was set first is removed. */
export function forgetOldest<K>(map: Map<K, unknown>, most: number): void {
  const [oldest] = map.size > most ? map.keys() : [];
  if (oldest !== undefined) map.delete(oldest);
}
