/** Helpers to read values from the network, which must be checked before they are used. */

export { field } from "../core/field.ts";

export type Fields = Readonly<Record<string, unknown>>;

const NONE: Fields = Object.freeze({});

/** Whether the value is an object and not an array. */
export function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The fields of an object; empty for anything else. */
export function fieldsOf(value: unknown): Fields {
  return isObject(value) ? value : NONE;
}

/** The value if it is an array, else an empty array. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The value if it is a string, else `otherwise`. */
export function stringOr<T>(value: unknown, otherwise: T): string | T {
  return typeof value === "string" ? value : otherwise;
}

/** The value if it is a string that is not empty. */
export function textIn(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/**
 * A token count, or undefined if the value is not a whole number of at least 0. Tokens are money, so nothing else is accepted.
 */
export function countIn(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/** Parses JSON, or returns undefined if the text is not JSON. (No JSON text has the value undefined.) */
export function tryParse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
