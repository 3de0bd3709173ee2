/**
 * Whether a value is an error, also one of another realm. In Jest a test and its packages have an `Error` of their own, of which nothing
 * that Node itself throws is an instance.
 */
export function isError(value: unknown): value is Error {
  if (value instanceof Error) return true;
  if (typeof value !== "object" || value === null) return false;
  try {
    return /^\[object (?:Error|DOMException)\]$/.test(Object.prototype.toString.call(value));
  } catch {
    return false;
  }
}
