import type { JsonObject, JsonValue } from "@ravi/kernel";
import { readObject } from "./read-json.ts";
import { RefusedRequest } from "./refusal.ts";

/** A refusal in Anthropic's words: the path of the field, and what is wrong with it. */
export function wrong(path: string, problem: string): RefusedRequest {
  return new RefusedRequest({ status: 400, message: `${path}: ${problem}` });
}

/** Reads an object, and refuses fields that are not known. */
export function readOnly(value: JsonValue | undefined, path: string, known: readonly string[]): JsonObject {
  const object = readObject(value, path);
  const unknown = Object.keys(object).find((key) => !known.includes(key));
  if (unknown === undefined) return object;
  throw wrong(path === "body" ? unknown : `${path}.${unknown}`, "Extra inputs are not permitted");
}

/** Reads a field, and refuses the request if it is missing. */
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
