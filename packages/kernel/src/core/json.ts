import { InvalidValueError } from "../errors/errors.ts";
import { checkFields, checkInteger } from "./check.ts";

export type JsonPrimitive = string | number | boolean | null;
export type JsonValue = JsonPrimitive | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: JsonValue | undefined;
}

export interface JsonLimits {
  /** How deep arrays and objects may nest. `JSON.stringify` overflows the stack near 4,100. */
  readonly maxDepth: number;
  /** How long the text may be, in UTF-16 units. */
  readonly maxLength: number;
}

/** What arguments of a tool call may be at most. */
export const ARGUMENT_LIMITS: JsonLimits = Object.freeze({ maxDepth: 64, maxLength: 1_000_000 });

const SHORTEST_HOSTILE = '{"__proto__":0}'.length;

/**
 * Parses JSON from a model, a file or the network. Refuses what is too long or too deep, and the key `__proto__`
 * (harmless here, but it reaches a prototype as soon as somebody copies it), with an `InvalidValueError` that says where.
 */
export function parseJson(text: string, field: string, limits: JsonLimits = ARGUMENT_LIMITS): JsonValue {
  if (typeof text !== "string")
    throw new InvalidValueError({ field, value: text, expected: "JSON as a text" });
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
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new InvalidValueError({ field, value: clip(text), expected: `valid JSON (${why})`, cause });
  }
  // A scan of the text is far cheaper than a walk of the value. The key can be spelt with escapes, so those walk too.
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
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
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
          expected: `arrays and objects at most ${maxDepth} deep`,
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

/** Whether two plain values are the same by content; the order of keys does not matter. */
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

/** Freezes a value and all that it holds. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  return freezeNew(value);
}

/** The same for an object that was just made. Not to ask first whether it is frozen saves half of the time. */
export function freezeNew<T extends object>(value: T): T {
  Object.freeze(value);
  // A list of the values would take as long as all the rest.
  for (const key in value) {
    const inner = value[key];
    if (typeof inner === "object" && Object.hasOwn(value, key)) deepFreeze(inner);
  }
  return value;
}
