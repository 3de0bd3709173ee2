import type { JsonObject, JsonValue } from "@ravi/kernel";
import { readObject } from "./read-json.ts";
import { RefusedRequest } from "./refusal.ts";

/** A refusal in Anthropic's words: where, and what is wrong there. */
export function wrong(path: string, problem: string): RefusedRequest {
  return new RefusedRequest({ status: 400, message: `${path}: ${problem}` });
}

/** An object with no other fields than these. */
export function readOnly(value: JsonValue | undefined, path: string, known: readonly string[]): JsonObject {
  const object = readObject(value, path);
  const unknown = Object.keys(object).find((key) => !known.includes(key));
  if (unknown === undefined) return object;
  throw wrong(path === "body" ? unknown : `${path}.${unknown}`, "Extra inputs are not permitted");
}

/** Where a field must be there. */
export function readRequired<T>(
  value: JsonValue | undefined,
  path: string,
  read: (value: JsonValue, path: string) => T,
): T {
  if (value === undefined || value === null) throw wrong(path, "Field required");
  return read(value, path);
}

export function readOneOf<T extends string>(
  value: JsonValue | undefined,
  path: string,
  allowed: readonly T[],
): T {
  const found = allowed.find((word) => word === value);
  if (found !== undefined) return found;
  throw wrong(path, `Input should be ${allowed.map((word) => `'${word}'`).join(" or ")}`);
}
