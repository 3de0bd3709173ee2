/** Reads of values that came over the wire, where nothing is what its documentation says until it was looked at. */

export type Fields = Readonly<Record<string, unknown>>;

const NONE: Fields = Object.freeze({});

/** Whether it is an object with fields, and not a list. */
export function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The fields of an object; none where it is not one. */
export function fieldsOf(value: unknown): Fields {
  return isObject(value) ? value : NONE;
}

/** One field of something; undefined where there is none. Names are the reader's own, never the sender's. */
export function field(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}

/** A list, or an empty one where it is none. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** A text, or something else where it is none. */
export function stringOr<T>(value: unknown, otherwise: T): string | T {
  return typeof value === "string" ? value : otherwise;
}

/** A text with something in it. */
export function textIn(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** A number of tokens. It is money: what is no sensible count says nothing. */
export function countIn(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/** The value of a JSON text, or undefined where it is none: no JSON text stands for undefined. */
export function tryParse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
