import { isError } from "../core/is-error.ts";

/** The message of anything that was thrown, even if it cannot be converted to text. */
export function messageOf(error: unknown): string {
  try {
    if (isError(error)) return error.message;
    const text = String(error);
    // A plain object has no useful `toString`.
    return text === "[object Object]" ? JSON.stringify(error) : text;
  } catch {
    return tagOf(error);
  }
}

function tagOf(value: unknown): string {
  try {
    return Object.prototype.toString.call(value);
  } catch {
    // A proxy may refuse even that.
    return "[object Object]";
  }
}
