/** Ids as servers take them. Those of other providers, and of models that made them up, may be anything. */

/** At most that long. The same id always becomes the same, and two that differ stay different. */
export function shortId(id: string, maxLength: number): string {
  return id.length <= maxLength ? id : hashed(id, id, maxLength);
}

/** The same, of letters, digits, `_` and `-` only, for servers that refuse all others. */
export function plainId(id: string, maxLength: number): string {
  if (/^[\w-]+$/.test(id) && id.length <= maxLength) return id;
  return hashed(id, id.replaceAll(/[^\w-]/g, "_"), maxLength);
}

function hashed(id: string, shown: string, maxLength: number): string {
  const hash = hashOf(id);
  return `${shown.slice(0, maxLength - 1 - hash.length)}_${hash}`;
}

function hashOf(id: string): string {
  let low = 0x811c9dc5;
  let high = 0x01000193;
  for (let at = 0; at < id.length; at++) {
    low = Math.imul(low ^ id.charCodeAt(at), 0x01000193);
    high = Math.imul(high ^ low, 0x85ebca6b);
  }
  return [low, high].map((part) => (part >>> 0).toString(16).padStart(8, "0")).join("");
}

/** Room for the number by which two ids differ. */
const NUMBER_LENGTH = 8;

/** Gives out ids, each once. */
export interface IdGiver {
  /** The wanted id, or one like it where that is taken. */
  give(wanted: string): string;
}

/** The same wishes in the same order get the same ids; what is wished later changes nothing of what was given before. */
export function uniqueIds(maxLength = Number.POSITIVE_INFINITY): IdGiver {
  /** The ids that were given out, each with the number by which the next one like it may differ. */
  const taken = new Map<string, number>();
  return {
    give(wanted) {
      let id = wanted;
      let next = taken.get(wanted) ?? 2;
      while (taken.has(id)) id = `${wanted.slice(0, maxLength - NUMBER_LENGTH)}_${next++}`;
      taken.set(wanted, next);
      taken.set(id, taken.get(id) ?? 2);
      return id;
    },
  };
}
