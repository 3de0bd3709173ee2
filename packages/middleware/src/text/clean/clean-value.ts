/** Deeper than any schema describes. */
const MAX_DEPTH = 200;

/** Thrown if a value cannot be cleaned without changing its shape. */
class NotCleanable extends Error {}

/**
 * A copy of a value with its texts cleaned, or the same value if nothing had to be changed. Undefined if it cannot be cleaned: a
 * key or a number would have to be replaced, which would be false or break its shape, or the value cannot be inspected (a Map, an
 * instance of a class, a cycle).
 */
export function cleanValue(
  value: unknown,
  clean: (text: string) => string,
): { readonly value: unknown } | undefined {
  try {
    return { value: new Cleaner(clean).clean(value, 0) };
  } catch {
    // Also if a getter throws.
    return undefined;
  }
}

class Cleaner {
  private readonly text: (text: string) => string;
  /** Shared objects are cleaned once. An object that contains itself is found here unfinished. */
  private readonly seen = new Map<object, { readonly value: unknown } | undefined>();

  constructor(text: (text: string) => string) {
    this.text = text;
  }

  clean(value: unknown, depth: number): unknown {
    switch (typeof value) {
      case "string":
        return this.text(value);
      case "number":
      case "bigint":
        this.mustStay(String(value));
        return value;
      case "object":
        return value === null ? value : this.cleanObject(value, depth);
      case "boolean":
      case "undefined":
        return value;
      default:
        throw new NotCleanable();
    }
  }

  private cleanObject(value: object, depth: number): unknown {
    if (this.seen.has(value)) {
      const known = this.seen.get(value);
      if (known === undefined) throw new NotCleanable();
      return known.value;
    }
    if (depth > MAX_DEPTH) throw new NotCleanable();
    this.seen.set(value, undefined);
    const cleaned = this.copyOf(value, depth);
    this.seen.set(value, { value: cleaned });
    return cleaned;
  }

  private copyOf(value: object, depth: number): unknown {
    const prototype: unknown = Object.getPrototypeOf(value);
    const keys = Reflect.ownKeys(value);
    // A date has no text of its own.
    if (prototype === Date.prototype && keys.length === 0) return value;
    const entries = Object.entries(value);
    const isList = Array.isArray(value);
    const isPlain = isList
      ? prototype === Array.prototype
      : prototype === Object.prototype || prototype === null;
    // A list also has the key `length`. Any other key that is not among the entries is hidden.
    if (!isPlain || keys.length !== entries.length + (isList ? 1 : 0)) throw new NotCleanable();
    if (isList && entries.length !== value.length) throw new NotCleanable();
    const cleaned = entries.map(([key, inner]): [string, unknown] => {
      this.mustStay(key);
      return [key, this.clean(inner, depth + 1)];
    });
    if (cleaned.every(([, inner], at) => Object.is(inner, entries[at]?.[1]))) return value;
    return isList ? cleaned.map(([, inner]) => inner) : Object.fromEntries(cleaned);
  }

  private mustStay(text: string): void {
    if (this.text(text) !== text) throw new NotCleanable();
  }
}
