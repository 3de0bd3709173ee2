import type { JsonValue } from "@ravi/kernel";

/** A value as plain JSON, to be shown to somebody. What JSON cannot express becomes a short description. */
export function asJson(value: unknown): JsonValue {
  try {
    const text = JSON.stringify(value);
    return text === undefined ? `(${typeof value})` : (JSON.parse(text) as JsonValue);
  } catch {
    // A cycle, a BigInt, or a `toJSON` that throws.
    return "(a value that is not JSON)";
  }
}
