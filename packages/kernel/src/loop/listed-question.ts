import type { JsonValue } from "../core/json.ts";

/** In characters of JSON. */
const MOST = 20_000;
const SHORT = 200;

/**
 * A question as the list of runs has it, which may have a hundred thousand runs. Of a long one only short fields are left, and undefined if
 * it has no fields or is no JSON.
 */
export function listedQuestion(question: JsonValue | undefined): JsonValue | undefined {
  const length = lengthOf(question);
  if (length === undefined || length <= MOST) return length === undefined ? undefined : question;
  if (typeof question !== "object" || question === null || Array.isArray(question)) return undefined;
  const short = Object.entries(question).filter(([, value]) => (lengthOf(value) ?? Infinity) <= SHORT);
  return Object.fromEntries(short);
}

/** Undefined if it cannot be written as JSON. */
function lengthOf(value: JsonValue | undefined): number | undefined {
  try {
    return (JSON.stringify(value) as string | undefined)?.length;
  } catch {
    return undefined;
  }
}
