/** Adds an item to the list of that name, which is made with its first one. */
export function addTo<K, T>(lists: Map<K, T[]>, name: K, item: T): void {
  const list = lists.get(name);
  if (list === undefined) lists.set(name, [item]);
  else list.push(item);
}
