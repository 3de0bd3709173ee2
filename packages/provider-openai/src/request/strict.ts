import type { JsonSchema } from "@ravi/kernel";
import { isObject, isObjectSchema, listOf } from "@ravi/kernel/provider";

/** The keywords that OpenAI's strict mode supports. A schema with any other one is sent unchanged and not strict. */
const KEYWORDS = new Set([
  "$defs",
  "$ref",
  "$schema",
  "additionalProperties",
  "anyOf",
  "const",
  "definitions",
  "description",
  "enum",
  "exclusiveMaximum",
  "exclusiveMinimum",
  "format",
  "items",
  "maxItems",
  "maximum",
  "minItems",
  "minimum",
  "multipleOf",
  "pattern",
  "properties",
  "required",
  "title",
  "type",
]);
const FORMATS: ReadonlySet<unknown> = new Set([
  "date",
  "date-time",
  "duration",
  "email",
  "hostname",
  "ipv4",
  "ipv6",
  "time",
  "uuid",
]);
const MAX_DEPTH = 10;
const MAX_PROPERTIES = 5_000;

const known = new WeakMap<JsonSchema, JsonSchema | null>();

/**
 * The schema in the form that strict mode demands, or undefined if that would change its meaning: with `additionalProperties: false`,
 * with a type at fixed values, and with `anyOf` instead of `oneOf`, since the answer is checked by its own schema anyway. A schema with optional properties is not converted: they would have to become nullable, which the tool does not
 * expect.
 */
export function strictSchema(schema: JsonSchema): JsonSchema | undefined {
  let strict = known.get(schema);
  if (strict === undefined) {
    const budget = { properties: MAX_PROPERTIES };
    const narrowed = isObjectSchema(schema) ? narrow(schema, 0, budget) : undefined;
    strict = narrowed ?? null;
    known.set(schema, strict);
  }
  return strict ?? undefined;
}

type Node = Readonly<Record<string, unknown>>;

function narrow(value: unknown, depth: number, budget: { properties: number }): Node | undefined {
  if (!isObject(value) || depth > MAX_DEPTH) return undefined;
  const node = inStrictWords(value);
  if (!Object.keys(node).every((key) => KEYWORDS.has(key))) return undefined;
  const { type, properties, items, anyOf, $ref, pattern, format } = node;
  if ((type ?? $ref ?? anyOf) === undefined) return undefined;
  // In strict mode a `$ref` must stand alone, and patterns with lookahead or lookbehind are refused.
  if ($ref !== undefined && Object.keys(node).length > 1) return undefined;
  if (typeof pattern === "string" && /\(\?<?[=!]/.test(pattern)) return undefined;
  if (format !== undefined && !FORMATS.has(format)) return undefined;
  // Each alternative would forbid the properties beside it, and a path through `oneOf` would lead nowhere.
  if (properties !== undefined && anyOf !== undefined) return undefined;
  if (typeof $ref === "string" && $ref.includes("/oneOf/")) return undefined;
  const below = (inner: unknown): Node | undefined => narrow(inner, depth + 1, budget);

  const result: Record<string, unknown> = { ...node };
  for (const key of ["$defs", "definitions"]) {
    if (node[key] === undefined) continue;
    const defined = narrowEach(node[key], below);
    if (defined === undefined) return undefined;
    result[key] = defined;
  }
  if (type === "object") {
    const fields = narrowEach(properties ?? {}, below);
    if (fields === undefined || (node["additionalProperties"] ?? false) !== false) return undefined;
    const names = Object.keys(fields);
    const required = new Set(listOf(node["required"]));
    budget.properties -= names.length;
    if (budget.properties < 0 || !names.every((name) => required.has(name))) return undefined;
    Object.assign(result, { properties: fields, required: names, additionalProperties: false });
  } else if (properties !== undefined || (Array.isArray(type) && type.includes("object"))) return undefined;
  if (type === "array" || items !== undefined) {
    const inner = below(items);
    if (inner === undefined) return undefined;
    result["items"] = inner;
  }
  if (anyOf !== undefined) {
    const options = listOf(anyOf).map(below);
    if (options.length === 0 || options.includes(undefined)) return undefined;
    result["anyOf"] = options;
  }
  return result;
}

function inStrictWords(schema: Node): Node {
  const { oneOf, ...rest } = schema;
  const node = oneOf === undefined || rest["anyOf"] !== undefined ? schema : { ...rest, anyOf: oneOf };
  if (node["type"] !== undefined) return node;
  const [kind, ...others] = new Set(listOf(node["enum"] ?? [node["const"]]).map((value) => typeof value));
  const isPlain = kind === "string" || kind === "number" || kind === "boolean";
  return isPlain && others.length === 0 ? { type: kind, ...node } : node;
}

function narrowEach(
  value: unknown,
  below: (inner: unknown) => Node | undefined,
): Record<string, Node> | undefined {
  if (!isObject(value)) return undefined;
  const entries: [string, Node][] = [];
  for (const [name, inner] of Object.entries(value)) {
    const narrowed = below(inner);
    if (narrowed === undefined) return undefined;
    entries.push([name, narrowed]);
  }
  return Object.fromEntries(entries);
}
