import type { JsonSchema } from "@ravi/kernel";
import { type Fields, isObject, listOf } from "@ravi/kernel/provider";

/** The keywords that Anthropic's structured output accepts unchanged. */
const PLAIN = new Set(["type", "enum", "const", "description", "title", "default", "$ref", "required"]);
const FORMATS = new Set("date-time time date duration email hostname uri ipv4 ipv6 uuid".split(" "));
const MAX_DEPTH = 32;

const known = new WeakMap<JsonSchema, Fields | null>();

/**
 * The schema in the form that structured output accepts, or undefined if that would change what it allows: objects with free keys,
 * and values of any type. Bounds that the server does not support (`minimum`, `pattern`) are described in words; the caller checks
 * the answer against the original schema.
 */
export function outputSchema(schema: JsonSchema): Fields | undefined {
  let fitted = known.get(schema);
  if (fitted === undefined) {
    fitted = fit(schema, 0) ?? null;
    known.set(schema, fitted);
  }
  return fitted ?? undefined;
}

function fit(value: unknown, depth: number): Fields | undefined {
  if (!isObject(value) || depth > MAX_DEPTH) return undefined;
  const below = (inner: unknown): Fields | undefined => fit(inner, depth + 1);
  const result: Record<string, unknown> = {};
  const bounds: string[] = [];
  for (const [key, inner] of Object.entries(value)) {
    const fitted = fitKeyword(key, inner, below);
    if (fitted === "unfit") return undefined;
    if (fitted === "bound") bounds.push(`${key}: ${JSON.stringify(inner)}`);
    else if (fitted !== "dropped") result[fitted.key] = fitted.value;
  }
  const { type } = value;
  const isDescribed = ["type", "$ref", "enum", "const", "anyOf", "allOf"].some((key) => key in result);
  if (!isDescribed) return undefined;
  if (type === "object" || (Array.isArray(type) && type.includes("object"))) {
    // Free keys are not supported, and an object without named properties would have to stay empty.
    if (!isObject(value["properties"]) || (value["additionalProperties"] ?? false) !== false)
      return undefined;
    result["additionalProperties"] = false;
  }
  if (type === "array" && !("items" in result)) return undefined;
  if (bounds.length > 0) {
    const said = typeof result["description"] === "string" ? `${result["description"]} ` : "";
    result["description"] = `${said}(${bounds.join(", ")})`;
  }
  return result;
}

type Fitted = "unfit" | "bound" | "dropped" | { readonly key: string; readonly value: unknown };

function fitKeyword(key: string, inner: unknown, below: (inner: unknown) => Fields | undefined): Fitted {
  switch (key) {
    case "$schema":
    case "$id":
    case "additionalProperties":
      return "dropped";
    case "format":
      return FORMATS.has(String(inner)) ? { key, value: inner } : "bound";
    case "minItems":
      return inner === 0 || inner === 1 ? { key, value: inner } : "bound";
    case "properties":
    case "$defs":
    case "definitions": {
      if (!isObject(inner)) return "unfit";
      const entries = Object.entries(inner).map(([name, field]) => [name, below(field)] as const);
      if (entries.some(([, field]) => field === undefined)) return "unfit";
      return { key, value: Object.fromEntries(entries) };
    }
    case "items": {
      const value = below(inner);
      return value === undefined ? "unfit" : { key, value };
    }
    case "anyOf":
    case "oneOf":
    case "allOf": {
      const options = listOf(inner).map(below);
      if (options.length === 0 || options.includes(undefined)) return "unfit";
      return { key: key === "oneOf" ? "anyOf" : key, value: options };
    }
    case "minimum":
    case "maximum":
    case "exclusiveMinimum":
    case "exclusiveMaximum":
    case "multipleOf":
    case "minLength":
    case "maxLength":
    case "pattern":
    case "maxItems":
    case "uniqueItems":
      return "bound";
    default:
      return PLAIN.has(key) ? { key, value: inner } : "unfit";
  }
}
