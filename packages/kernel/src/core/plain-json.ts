import { InvalidValueError } from "../errors/errors.ts";
import { ARGUMENT_LIMITS, type JsonValue } from "./json.ts";

/**
 * Returns the value if it would be the same after `JSON.stringify` and `JSON.parse`. Otherwise (`undefined`, a function, `NaN`,
 * `-0`, a date, an instance of a class, a cycle, nesting deeper than 64 levels) throws an `InvalidValueError` that says where.
 */
export function checkPlainJson(field: string, value: unknown): JsonValue {
  check(field, value, ARGUMENT_LIMITS.maxDepth);
  return value as JsonValue;
}

/**
 * Like `checkPlainJson`, for messages between agents. It also accepts fields that are `undefined`, which JSON drops, and a
 * negative zero (sums may round to it), which JSON turns into 0.
 */
export function checkMessage(field: string, value: unknown): JsonValue {
  check(field, value, ARGUMENT_LIMITS.maxDepth, true);
  return value as JsonValue;
}

function check(field: string, value: unknown, depthLeft: number, isMessage = false): void {
  if (value === null || typeof value === "string" || typeof value === "boolean") return;
  if (typeof value === "number") {
    // JSON has neither infinities nor a negative zero.
    if (!Number.isFinite(value)) throw wrong(field, value, "a finite number");
    if (!isMessage && Object.is(value, -0)) throw wrong(field, "-0", "0, because JSON has no negative zero");
    return;
  }
  if (typeof value !== "object") throw wrong(field, value, "plain JSON");
  if (depthLeft === 0)
    throw wrong(field, value, "plain JSON without cycles and with fewer levels of nesting");
  if (Array.isArray(value)) {
    // By index, to detect holes.
    for (let at = 0; at < value.length; at++)
      check(`${field}[${at}]`, value[at] as unknown, depthLeft - 1, isMessage);
    return;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  // An object of another realm has another `Object.prototype`, whose own prototype is null as well.
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null)
    throw wrong(field, value, "a plain object, not an instance of a class");
  if ("toJSON" in value) throw wrong(field, value, "plain JSON, not an object with a toJSON method");
  for (const [key, inner] of Object.entries(value)) {
    if (key === "__proto__") throw wrong(field, key, "no key named __proto__");
    if (inner === undefined && isMessage) continue;
    check(`${field}.${key}`, inner, depthLeft - 1, isMessage);
  }
}

function wrong(field: string, value: unknown, expected: string): InvalidValueError {
  return new InvalidValueError({ field, value, expected });
}
