import { isObject } from "@ravi/kernel/provider";

/**
 * How `JSON.stringify` escapes an unpaired surrogate. A text that contains the same characters literally matches too; that only
 * costs a second pass.
 */
const HALF = /\\ud[89a-f][0-9a-f]{2}/;

/** Serializes a value and replaces unpaired surrogates. Servers refuse the whole request because of one. */
export function jsonText(value: unknown): string {
  const text = JSON.stringify(value);
  return HALF.test(text) ? JSON.stringify(value, (_, inner: unknown) => whole(inner)) : text;
}

function whole(value: unknown): unknown {
  if (typeof value === "string") return value.toWellFormed();
  if (!isObject(value) || Object.keys(value).every((key) => key.isWellFormed())) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key.toWellFormed(), inner]));
}
