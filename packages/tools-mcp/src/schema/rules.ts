import { isObject } from "@ravi/kernel/provider";
import { NOTHING_WRONG, type Ruling, together, UNKNOWN, wrong } from "./ruling.ts";

// What a keyword says of a value of each type. A keyword of another type says nothing; one that is not known leaves it open.

type Path = readonly PropertyKey[];
type Below = (inner: unknown, part: unknown, at: Path) => Ruling;

const STRING = ["minLength", "maxLength"];
const PATTERNS = ["pattern", "format", "contentEncoding", "contentMediaType", "contentSchema"];
/** A schema may ask for this thousands of times. */
const MOST_COUNTED = 1_000;
const NUMBER = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];
const ARRAY = ["items", "prefixItems", "minItems", "maxItems"];
const OBJECT = ["properties", "required", "additionalProperties", "minProperties", "maxProperties"];

/** Keywords that say something about values of one type only. */
const OWNERS = new Map<string, string>([
  ...[...STRING, ...PATTERNS].map((keyword) => [keyword, "string"] as const),
  ...NUMBER.map((keyword) => [keyword, "number"] as const),
  ...[...ARRAY, "uniqueItems", "contains", "minContains", "maxContains", "additionalItems"].map(
    (keyword) => [keyword, "array"] as const,
  ),
  ...[...OBJECT, "patternProperties", "propertyNames", "dependentRequired"].map(
    (keyword) => [keyword, "object"] as const,
  ),
]);

/** The ruling on a keyword that was not decided: it says nothing about a value of this type, or it is left open. */
export function otherwise(keyword: string, type: string): Ruling {
  const owner = OWNERS.get(keyword);
  return owner !== undefined && owner !== type ? NOTHING_WRONG : UNKNOWN;
}

export function stringRules(keyword: string, asked: unknown, value: string, path: Path): Ruling {
  if (!STRING.includes(keyword)) return otherwise(keyword, "string");
  if (typeof asked !== "number") return UNKNOWN;
  // Characters are counted, of which some take two units.
  const units = value.length;
  if (units < asked || units > 2 * asked) return bounded(keyword, asked, units, path, "characters");
  if (units > MOST_COUNTED) return UNKNOWN;
  return bounded(keyword, asked, Array.from(value).length, path, "characters");
}

export function numberRules(keyword: string, asked: unknown, value: number, path: Path): Ruling {
  if (!NUMBER.includes(keyword)) return otherwise(keyword, "number");
  if (typeof asked !== "number") return UNKNOWN;
  const limits: Record<string, readonly [fits: boolean, expected: string]> = {
    minimum: [value >= asked, "at least"],
    maximum: [value <= asked, "at most"],
    exclusiveMinimum: [value > asked, "more than"],
    exclusiveMaximum: [value < asked, "less than"],
  };
  const limit = limits[keyword];
  if (limit !== undefined) {
    const [fits, expected] = limit;
    return fits ? NOTHING_WRONG : wrong(path, `is ${value}; expected ${expected} ${asked}`);
  }
  // Of fractions, the remainder is not exact.
  if (!Number.isSafeInteger(value) || !Number.isSafeInteger(asked) || asked === 0) return UNKNOWN;
  return value % asked === 0 ? NOTHING_WRONG : wrong(path, `is ${value}; expected a multiple of ${asked}`);
}

export function arrayRules(
  keyword: string,
  asked: unknown,
  schema: Readonly<Record<string, unknown>>,
  value: readonly unknown[],
  path: Path,
  below: Below,
): Ruling {
  if (keyword === "minItems" || keyword === "maxItems")
    return typeof asked === "number" ? bounded(keyword, asked, value.length, path, "items") : UNKNOWN;
  if (keyword === "prefixItems" || (keyword === "items" && Array.isArray(asked)))
    return together(
      value
        .slice(0, Array.isArray(asked) ? asked.length : 0)
        .map((item, at) => below(Reflect.get(Object(asked), at), item, [...path, at])),
    );
  if (keyword !== "items") return otherwise(keyword, "array");
  const from = Array.isArray(schema["prefixItems"]) ? schema["prefixItems"].length : 0;
  return together(value.slice(from).map((item, at) => below(asked, item, [...path, from + at])));
}

export function objectRules(
  keyword: string,
  asked: unknown,
  schema: Readonly<Record<string, unknown>>,
  value: Readonly<Record<string, unknown>>,
  path: Path,
  below: Below,
): Ruling {
  const names = Object.keys(value);
  if (keyword === "minProperties" || keyword === "maxProperties")
    return typeof asked === "number" ? bounded(keyword, asked, names.length, path, "properties") : UNKNOWN;
  if (keyword === "required" && Array.isArray(asked))
    return together(
      asked.map((name) =>
        typeof name !== "string" || Object.hasOwn(value, name)
          ? NOTHING_WRONG
          : wrong([...path, name], "is missing"),
      ),
    );
  if (keyword === "properties" && isObject(asked))
    return together(
      Object.keys(asked)
        .filter((name) => Object.hasOwn(value, name))
        .map((name) => below(asked[name], value[name], [...path, name])),
    );
  if (keyword !== "additionalProperties") return otherwise(keyword, "object");
  // Whether a pattern matches them is not known.
  if (schema["patternProperties"] !== undefined) return UNKNOWN;
  const known = isObject(schema["properties"]) ? schema["properties"] : {};
  return together(
    names
      .filter((name) => !Object.hasOwn(known, name))
      .map((name) => below(asked, value[name], [...path, name])),
  );
}

function bounded(keyword: string, asked: number, length: number, path: Path, of: string): Ruling {
  const fits = keyword.startsWith("min") ? length >= asked : length <= asked;
  const expected = `${keyword.startsWith("min") ? "at least" : "at most"} ${asked}`;
  return fits ? NOTHING_WRONG : wrong(path, `has ${length} ${of}; expected ${expected}`);
}
