import type { JsonObject, JsonValue } from "../core/json.ts";
import { classifyError } from "./classify.ts";
import { ErrorCode, isOwnField } from "./code.ts";

/** An error as plain data. `code` is null for an error that is not Ravi's. */
export type SerializedError = {
  readonly code: ErrorCode | null;
  readonly name: string;
  readonly message: string;
  readonly retryable: boolean;
  readonly fields: JsonObject;
  readonly cause: SerializedError | null;
};

/** How many causes of an error are kept. */
export const MAX_CAUSES = 8;

/** Any error, or any other thrown value, as plain data with its causes (at most 8). `errorFromJSON` reads it. */
export function errorToJSON(error: unknown): SerializedError {
  return serialize(error, MAX_CAUSES);
}

function serialize(error: unknown, causesLeft: number): SerializedError {
  const cause = causesLeft > 0 ? read(error, "cause") : undefined;
  const base = {
    name: text(read(error, "name"), "Error"),
    message: text(
      read(error, "message"),
      typeof error === "string" ? error : "something was thrown that is not an error",
    ),
    cause: cause === undefined || cause === null ? null : serialize(cause, causesLeft - 1),
  };
  const code = read(error, "code");
  if (read(error, "isRaviError") !== true || !isCode(code))
    return { code: null, retryable: false, fields: { classified: meaningOf(error) }, ...base };
  return { code, retryable: read(error, "retryable") === true, fields: fieldsOf(error), ...base };
}

/** What an error that is not Ravi's means. Its fields, which say it, may hold anything and are not kept; a replayed run must decide the same. */
function meaningOf(error: unknown): JsonObject {
  const meaning: Record<string, JsonValue> = {};
  for (const [name, value] of Object.entries(classifyError(error)))
    if (isPrimitive(value)) meaning[name] = value;
  return meaning;
}

function fieldsOf(error: unknown): JsonObject {
  const fields: Record<string, JsonValue> = {};
  for (const key of keysOf(error)) {
    const value = read(error, key);
    if (isOwnField(key) && (isPrimitive(value) || isList(value))) fields[key] = value;
  }
  return fields;
}

export function isCode(code: unknown): code is ErrorCode {
  return typeof code === "string" && Object.hasOwn(ErrorCode, code);
}

function isPrimitive(value: unknown): value is string | number | boolean | null {
  return (
    value === null || typeof value === "string" || typeof value === "number" || typeof value === "boolean"
  );
}

function isList(value: unknown): value is readonly (string | number | boolean | null)[] {
  return Array.isArray(value) && value.every(isPrimitive);
}

function text(value: unknown, otherwise: string): string {
  return typeof value === "string" ? value : otherwise;
}

/** Reads a field of a thrown value, which may be anything, even an object whose getters throw. */
function read(value: unknown, key: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  try {
    return Reflect.get(value, key);
  } catch {
    // The getter's own error says nothing about the error that is described.
    return undefined;
  }
}

function keysOf(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  try {
    return Object.keys(value);
  } catch {
    // A proxy that cannot be listed has no fields to show.
    return [];
  }
}
