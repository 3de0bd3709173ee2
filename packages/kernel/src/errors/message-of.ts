import { isError } from "../core/is-error.ts";

/** The message of anything that was thrown, even if it cannot be converted to text. */
export function messageOf(error: unknown): string {
  if (isError(error)) return error.message;
  try {
    const text = String(error);
    // A plain object has no useful `toString`.
    return text === "[object Object]" ? JSON.stringify(error) : text;
  } catch {
    return Object.prototype.toString.call(error);
  }
}
