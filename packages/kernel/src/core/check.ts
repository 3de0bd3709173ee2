import { InvalidValueError } from "../errors/errors.ts";
import { NOT_SHOWN } from "../errors/show.ts";
import { calledHere, meantBy } from "./spelling.ts";
import { type AbortSignalLike, isPromiseLike } from "./types.ts";

/**
 * The functions of this file check one field each. They return the value with its type, or throw an `InvalidValueError` that
 * names the field.
 */

/** A whole number of at least `least`. */
export function checkInteger(field: string, value: unknown, least: number): number {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= least) return value;
  throw new InvalidValueError({ field, value, expected: `a whole number of at least ${least}` });
}

/** A whole number of at least `least`. Undefined and null return null, which means no limit. */
export function checkIntegerOrNull(field: string, value: unknown, least: number): number | null {
  if (value === undefined || value === null) return null;
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= least) return value;
  throw new InvalidValueError({
    field,
    value,
    expected: `a whole number of at least ${least}, or null for no limit`,
  });
}

/** A finite number within the bound. Undefined and null return null, which means no limit. */
export function checkAmountOrNull(
  field: string,
  value: unknown,
  bound: "positive" | "not negative",
): number | null {
  if (value === undefined || value === null) return null;
  const low = bound === "positive" ? Number.MIN_VALUE : 0;
  if (typeof value === "number" && Number.isFinite(value) && value >= low) return value;
  const least = bound === "positive" ? "greater than 0" : "of at least 0";
  throw new InvalidValueError({ field, value, expected: `a finite number ${least}, or null for no limit` });
}

export function checkBoolean(field: string, value: unknown): boolean {
  if (typeof value === "boolean") return value;
  throw new InvalidValueError({ field, value, expected: "true or false" });
}

export function checkText(field: string, value: unknown): string {
  if (typeof value === "string") return value;
  throw new InvalidValueError({ field, value, expected: "a string" });
}

/** A function, or undefined. Anything else would never be called, or fail in the middle of a run. */
export function checkFunction<F>(field: string, value: F): F {
  if (value === undefined || typeof value === "function") return value;
  throw new InvalidValueError({ field, value, expected: "a function" });
}

/** One of the values of an `as const` object such as `Priority`. */
export function checkOneOf<T>(field: string, value: unknown, allowed: Readonly<Record<string, T>>): T {
  for (const name in allowed) if (allowed[name] === value) return allowed[name] as T;
  const names = Object.entries(allowed).map(([name, option]) => `${name} (${JSON.stringify(option)})`);
  throw new InvalidValueError({ field, value, expected: `one of ${names.join(", ")}` });
}

/**
 * An abort signal, or undefined. Checked before a caller joins a queue with it: if it could not be listened to, the caller would
 * wait there for ever.
 */
export function checkSignal(field: string, value: unknown): AbortSignalLike | undefined {
  if (value === undefined) return undefined;
  const isSignal =
    typeof value === "object" &&
    value !== null &&
    typeof Reflect.get(value, "addEventListener") === "function" &&
    typeof Reflect.get(value, "removeEventListener") === "function";
  if (isSignal) return value as AbortSignalLike;
  const expected = "an AbortSignal, such as the signal of an AbortController";
  throw new InvalidValueError({ field, value, expected });
}

/** Refuses anything but a plain object whose keys are all known, so that a misspelt limit is not silently ignored. */
export function checkFields(
  what: string,
  value: unknown,
  known: readonly string[],
): Readonly<Record<string, unknown>> {
  const keys = typeof value === "object" && value !== null && !Array.isArray(value) ? Object.keys(value) : [];
  // This runs for every run, so the text of the error is built only if it is thrown.
  if (keys.length === 0 && !isPlainObject(value))
    return checkRecord(what, value, `an object with the fields ${known.join(", ")}`);
  // Most options are written in the order in which they are listed, so the next one is looked at first.
  let next = 0;
  for (const key of keys) {
    const at = key === known[next] ? next : known.indexOf(key);
    next = at + 1;
    if (at !== -1) continue;
    const meant = meantBy(key, known) ?? calledHere(key, known);
    const guess = meant === undefined ? "" : `; did you mean ${meant}?`;
    const expected = `no field of that name; known fields: ${known.join(", ")}${guess}`;
    throw new InvalidValueError({
      field: `${what}.${key.length <= 80 ? key : `${key.slice(0, 77)}...`}`,
      value: shownOf(key, Reflect.get(value as object, key)),
      expected,
    });
  }
  return value as Readonly<Record<string, unknown>>;
}

/** A key that was put into the wrong options may look like any text. Some write its name as one word: `accesstoken`. */
const SECRET_WORD =
  /^(?:(?:api|access|secret|private)?key|[a-z]*(?:token|secret|password|passphrase|credential)|auth|authorization)s?$/i;

function shownOf(name: string, value: unknown): unknown {
  return typeof value === "string" && isSecretName(name) ? NOT_SHOWN : value;
}

function isSecretName(name: string): boolean {
  const [first = "", ...rest] = name.match(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g) ?? [];
  // A number of tokens is no secret.
  const words = first === "max" ? rest.filter((word) => !/^tokens?$/i.test(word)) : [first, ...rest];
  return words.some((word) => SECRET_WORD.test(word));
}

/**
 * Copies the known options into own properties. Getters of a class and inherited properties would be lost silently wherever
 * options are spread: a ledger, or a guard.
 */
export function asOwn<T extends object>(options: T, known: readonly (keyof T)[]): T {
  const own: Partial<T> = {};
  for (const name of known) if (name in options) own[name] = options[name];
  return own as T;
}

/**
 * Throws unless the value is a plain object with any keys. A `Map` or a promise has no own keys, so it would pass as an empty
 * object.
 */
export function checkRecord(
  field: string,
  value: unknown,
  expected: string,
): Readonly<Record<string, unknown>> {
  if (isPlainObject(value)) return value as Readonly<Record<string, unknown>>;
  const missing = isPromiseLike(value) ? " (await it first)" : "";
  throw new InvalidValueError({ field, value, expected: `${expected}${missing}` });
}

/** A `Map`, a date or a promise that was not awaited has no fields either. Read as options, it would set no limit at all. */
function isPlainObject(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (value.constructor === Object) return !isPromiseLike(value);
  const tag = Object.prototype.toString.call(value);
  // A module namespace that is passed as options has fields too.
  return (tag === "[object Object]" || tag === "[object Module]") && !isPromiseLike(value);
}
