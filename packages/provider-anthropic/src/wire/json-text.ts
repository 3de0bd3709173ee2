import { isObject } from "@ravi/kernel/provider";

/** How `JSON.stringify` writes half of a character. A text that spells it out matches too, and is only looked at again. */
const HALF = /\\ud[89a-f][0-9a-f]{2}/;

/** A value as JSON that has no half characters in it: servers refuse the whole request for one. */
export function jsonText(value: unknown): string {
  const text = JSON.stringify(value);
  return HALF.test(text) ? JSON.stringify(value, (_, inner: unknown) => whole(inner)) : text;
}

function whole(value: unknown): unknown {
  if (typeof value === "string") return value.toWellFormed();
  if (!isObject(value) || Object.keys(value).every((key) => key.isWellFormed())) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key.toWellFormed(), inner]));
}
