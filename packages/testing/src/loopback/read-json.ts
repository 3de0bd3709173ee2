import type { JsonObject, JsonValue } from "@ravi/kernel";
import { isObject } from "@ravi/kernel/provider";
import { RefusedRequest } from "./refusal.ts";

// Functions that read fields of a request's body. If a field is wrong, the request is refused with 400 and the field's path.

export function invalid(param: string, expected: string): RefusedRequest {
  return new RefusedRequest({ status: 400, message: `Invalid '${param}': expected ${expected}`, param });
}

export function readObject(value: JsonValue | undefined, param: string): JsonObject {
  if (isObject(value)) return value;
  throw invalid(param, "an object");
}

/** Reads an object, and refuses fields that are not known. */
export function readKnown(value: JsonValue | undefined, param: string, known: readonly string[]): JsonObject {
  const object = readObject(value, param);
  const unknown = Object.keys(object).find((key) => !known.includes(key));
  if (unknown === undefined) return object;
  const path = param === "body" ? unknown : `${param}.${unknown}`;
  throw new RefusedRequest({
    status: 400,
    message: `Unknown parameter: '${path}'; there are ${known.join(", ")}`,
    param: path,
    code: "unknown_parameter",
  });
}

export function readString(value: JsonValue | undefined, param: string): string {
  if (typeof value === "string") return value;
  throw invalid(param, "a string");
}

export function readList(value: JsonValue | undefined, param: string): readonly JsonValue[] {
  if (Array.isArray(value)) return value as readonly JsonValue[];
  throw invalid(param, "an array");
}

/** Reads the name of a function, in the characters and the length that OpenAI accepts. */
export function readName(value: JsonValue | undefined, param: string): string {
  const name = readString(value, param);
  if (/^[a-zA-Z0-9_-]{1,64}$/.test(name)) return name;
  throw invalid(param, "a string that matches ^[a-zA-Z0-9_-]{1,64}$");
}

/** Reads the id of a call, which must not be longer than `most` characters. */
export function readId(value: JsonValue | undefined, param: string, most: number): string {
  const id = readString(value, param);
  if (id !== "" && id.length <= most) return id;
  throw invalid(param, `a string of 1 to ${most} characters`);
}

/** Reads a field unless it is absent or null, which these servers treat alike. */
export function readOptional<T>(
  value: JsonValue | undefined,
  param: string,
  read: (value: JsonValue, param: string) => T,
): T | undefined {
  return value === undefined || value === null ? undefined : read(value, param);
}

export function readNumber(value: JsonValue | undefined, param: string): number {
  if (typeof value === "number") return value;
  throw invalid(param, "a number");
}

export function readBoolean(value: JsonValue | undefined, param: string): boolean {
  if (typeof value === "boolean") return value;
  throw invalid(param, "true or false");
}

/** The fields that are not undefined. */
export function present<T extends object>(fields: T): Partial<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<T>;
}
