/** What is nested deeper is not copied: each level takes a part of the stack. */
const MAX_DEPTH = 64;

/**
 * A copy of the lists and plain objects in it, so that who gets it can sort or change them, and changes nothing for anybody else. What is of
 * a class is the same object.
 */
export function plainCopy<T>(value: T): T;
export function plainCopy(value: unknown): unknown {
  return copyOf(value, new Map(), MAX_DEPTH);
}

/** `copies` are those that were made, so that one which occurs twice, or in itself, is copied once. */
function copyOf(value: unknown, copies: Map<object, unknown>, depthLeft: number): unknown {
  if (typeof value !== "object" || value === null || depthLeft === 0) return value;
  const known = copies.get(value);
  if (known !== undefined) return known;
  const isList = Array.isArray(value);
  if (!isList && !isPlain(value)) return value;
  const copy: object = isList ? [] : {};
  copies.set(value, copy);
  const entries: [string, unknown][] = Object.entries(value);
  for (const [key, inner] of entries) {
    const own = copyOf(inner, copies, depthLeft - 1);
    // Not assigned: a key may be `__proto__`.
    Object.defineProperty(copy, key, { value: own, writable: true, enumerable: true, configurable: true });
  }
  return copy;
}

/** An object of another realm has another `Object.prototype`, whose own prototype is null as well. */
export function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
