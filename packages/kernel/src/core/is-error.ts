/**
 * Whether a value is an error, also one of another realm. In Jest a test and its packages have an `Error` of their own, of which nothing
 * that Node itself throws is an instance.
 */
export function isError(value: unknown): value is Error {
  if (typeof value !== "object" || value === null) return false;
  // A proxy may refuse to say what it is.
  try {
    return (
      value instanceof Error ||
      /^\[object (?:Error|DOMException)\]$/.test(Object.prototype.toString.call(value))
    );
  } catch {
    return false;
  }
}
