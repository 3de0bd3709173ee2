/** Deeper data, such as a cycle, is not copied from there on. */
const MAX_DEPTH = 64;

/**
 * A copy of the lists and plain objects in it, so that who gets it can sort or change them, and changes nothing for anybody else. What is of
 * a class is the same object.
 */
export function plainCopy<T>(value: T, depthLeft?: number): T;
export function plainCopy(value: unknown, depthLeft = MAX_DEPTH): unknown {
  if (typeof value !== "object" || value === null || depthLeft === 0) return value;
  if (Array.isArray(value)) return value.map((item: unknown) => plainCopy(item, depthLeft - 1));
  if (!isPlain(value)) return value;
  const entries: [string, unknown][] = Object.entries(value);
  return Object.fromEntries(entries.map(([key, inner]) => [key, plainCopy(inner, depthLeft - 1)]));
}

/** An object of another realm has another `Object.prototype`, whose own prototype is null as well. */
export function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
