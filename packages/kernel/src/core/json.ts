import { codeAt } from "./code-at.ts";
import { InvalidValueError } from "../errors/errors.ts";
import { messageOf } from "../errors/message-of.ts";
import { checkFields, checkInteger } from "./check.ts";

export type JsonPrimitive = string | number | boolean | null;
/** Any value that JSON can express. Fields that are `undefined` count as absent. */
export type JsonValue = JsonPrimitive | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: JsonValue | undefined;
}

/** Limits for JSON that is parsed. */
export interface JsonLimits {
  /** Maximum nesting of arrays and objects. `JSON.stringify` overflows the stack near 4,100. */
  readonly maxDepth: number;
  /** Maximum length of the text, in UTF-16 units. */
  readonly maxLength: number;
}

/** The limits for the arguments of a tool call. */
export const ARGUMENT_LIMITS: JsonLimits = Object.freeze({ maxDepth: 64, maxLength: 1_000_000 });

const SHORTEST_HOSTILE = '{"__proto__":0}'.length;

/**
 * Parses JSON from a model, a file or the network. Throws an `InvalidValueError` that names the field if the text is not JSON, is
 * too long or too deep, or has the key `__proto__` (harmless here, but it would reach a prototype as soon as somebody copies it).
 */
export function parseJson(text: string, field: string, limits: JsonLimits = ARGUMENT_LIMITS): JsonValue {
  if (typeof text !== "string")
    throw new InvalidValueError({ field, value: text, expected: "a string of JSON" });
  if (limits !== ARGUMENT_LIMITS) checkLimits(limits);
  if (text.length > limits.maxLength) {
    throw new InvalidValueError({
      field,
      value: `${text.length} characters`,
      expected: `at most ${limits.maxLength} characters of JSON`,
    });
  }
  refuseDeepText(text, field, limits.maxDepth);
  let parsed: JsonValue;
  try {
    parsed = JSON.parse(text) as JsonValue;
  } catch (cause) {
    const expected = `valid JSON (${messageOf(cause)})`;
    throw new InvalidValueError({ field, value: clip(text), expected, cause });
  }
  // Scanning the text is far cheaper than walking the value. The key may also be written with `\u` escapes, so a text with those
  // is walked too.
  if (text.length >= SHORTEST_HOSTILE && (text.includes("__proto__") || text.includes("\\u")))
    refuseHostileKeys(parsed, field);
  return parsed;
}

/** What is not a number limits nothing. */
function checkLimits(limits: JsonLimits): void {
  const given = checkFields("parseJson limits", limits, ["maxDepth", "maxLength"]);
  checkInteger("parseJson limits.maxDepth", given["maxDepth"], 0);
  checkInteger("parseJson limits.maxLength", given["maxLength"], 0);
}

/** Counts brackets outside strings, so that a depth of a million never reaches a recursive parser or walker. */
function refuseDeepText(text: string, field: string, maxDepth: number): void {
  if (text.length <= maxDepth) return;
  let depth = 0;
  let inString = false;
  const { length } = text;
  for (let at = 0; at < length; at++) {
    const code = codeAt(text, at);
    if (inString) {
      if (code === 0x5c /* \ */) at++;
      else if (code === 0x22 /* " */) inString = false;
    } else if (code === 0x22) {
      inString = true;
    } else if (code === 0x7b /* { */ || code === 0x5b /* [ */) {
      if (++depth > maxDepth) {
        throw new InvalidValueError({
          field,
          value: `nested deeper than ${maxDepth} at character ${at}`,
          expected: `at most ${maxDepth} levels of nested arrays and objects`,
        });
      }
    } else if (code === 0x7d || code === 0x5d) {
      depth--;
    }
  }
}

function refuseHostileKeys(value: JsonValue, field: string): void {
  if (typeof value !== "object" || value === null) return;
  if (Array.isArray(value)) {
    for (const item of value as readonly JsonValue[]) refuseHostileKeys(item, field);
    return;
  }
  for (const [key, inner] of Object.entries(value)) {
    if (key === "__proto__")
      throw new InvalidValueError({ field, value: key, expected: "no key named __proto__" });
    if (inner !== undefined) refuseHostileKeys(inner, field);
  }
}

function clip(text: string): string {
  return text.length <= 80 ? text : `${text.slice(0, 77)}...`;
}

/** Whether two plain values have equal content. The order of keys and keys that are `undefined` do not matter. */
export function sameValue(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const left = definedEntries(a);
  const right = new Map(definedEntries(b));
  return (
    left.length === right.size &&
    left.every(([key, value]) => right.has(key) && sameValue(value, right.get(key)))
  );
}

function definedEntries(value: object): [string, unknown][] {
  return Object.entries(value).filter(([, inner]) => inner !== undefined);
}

/** Freezes a value and everything in it. Anything that is frozen already is skipped with all that it holds. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  return freezeNew(value);
}

/** Like `deepFreeze`, for an object that was just created. Skipping the `isFrozen` check saves half of the time. */
export function freezeNew<T extends object>(value: T): T {
  Object.freeze(value);
  // `Object.values` would allocate a list, which takes as long as all the rest.
  for (const key in value) {
    const inner = value[key];
    if (typeof inner === "object" && Object.hasOwn(value, key)) deepFreeze(inner);
  }
  return value;
}
