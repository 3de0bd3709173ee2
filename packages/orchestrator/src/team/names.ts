import { InvalidValueError } from "@ravi/kernel";

/** The longest name of a tool that every provider accepts. */
const MAX_CHARS = 64;

/**
 * A name that models can call: letters, digits, `_` and `-`. With its prefix it has at most 64 characters; the rest is cut off.
 */
export function safeName(field: string, name: string, prefix: string): string {
  const text: unknown = name;
  const safe = (typeof text === "string" ? text : "")
    .trim()
    .replaceAll(/[^a-zA-Z0-9_-]+/g, "_")
    .slice(0, MAX_CHARS - prefix.length);
  if (/[a-zA-Z0-9]/.test(safe)) return prefix + safe;
  const expected =
    "a name with at least one letter or digit (a-z, A-Z, 0-9), because models call it by that name";
  throw new InvalidValueError({ field, value: name, expected });
}
