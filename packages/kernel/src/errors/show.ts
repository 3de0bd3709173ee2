import { secretPatterns } from "../core/secrets.ts";

/** Given as a value, it is shown without quotes: it is not the value. */
export const NOT_SHOWN = "(not shown)";

const SECRETS = secretPatterns(NOT_SHOWN);
/** Secrets are recognised in this much of a text, though less is shown: the end of some says what they are. */
const MAX_READ_CHARS = 1_000;

/**
 * A value as short text for a message, without what looks like a secret. Runs no code of the value (it calls no getter, `toString` or
 * `toJSON`), and never throws.
 */
export function show(value: unknown): string {
  if (typeof value === "string") {
    if (value === NOT_SHOWN) return value;
    let text = value.slice(0, MAX_READ_CHARS);
    for (const [pattern, instead] of SECRETS) text = text.replaceAll(pattern, instead);
    const isWhole = text.length <= 80 && value.length <= MAX_READ_CHARS;
    return JSON.stringify(isWhole ? text : `${text.slice(0, 77)}...`);
  }
  if (typeof value === "bigint") return isLong(value) ? "a bigint of more than 64 bits" : `${value}n`;
  if (typeof value === "function") return "a function";
  if (typeof value === "symbol") return "a symbol";
  return typeof value !== "object" || value === null ? String(value) : showObject(value);
}

function showObject(value: object): string {
  try {
    if (Array.isArray(value)) return `an array of ${value.length}`;
    // A forgotten `await`, and collections that are taken for a list or a plain object.
    if (value instanceof Promise) return "a promise";
    if (value instanceof Set) return "a Set";
    if (value instanceof Map) return "a Map";
  } catch {
    // A proxy may refuse to say what it is.
  }
  return "an object";
}

/** Compares the bits, because converting a huge bigint to text, only to cut it, takes seconds. */
function isLong(value: bigint): boolean {
  return BigInt.asIntN(65, value) !== value;
}

/** An id has at most 512 characters, and a field may be named after one. */
const MAX_NAME_CHARS = 600;

/** A name in a message: what was given for one may be a text of a megabyte. */
export function shortName(name: string): string {
  return cut(name, MAX_NAME_CHARS);
}

/** The beginning of a text, and how much of it there is. */
export function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most)}... (${text.length} characters)`;
}
