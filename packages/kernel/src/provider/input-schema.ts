import type { JsonSchema } from "../model/schema.ts";
import { type Fields, fieldsOf, isObject, listOf, textIn } from "./json.ts";

/** A JSON Schema with `type: "object"`. */
export type ObjectSchema = JsonSchema & { readonly type: "object" };

const CHOICES = ["anyOf", "oneOf"] as const;
/** The keywords that providers refuse next to `type: "object"`. */
const NOT_AT_ROOT = [...CHOICES, "allOf", "not", "enum", "const", "$ref"] as const;
const MAX_DEPTH = 8;

/** Whether providers accept the schema as it is, for a tool or for an answer. */
export function isObjectSchema(schema: JsonSchema): schema is ObjectSchema {
  return schema["type"] === "object" && NOT_AT_ROOT.every((key) => schema[key] === undefined);
}

/**
 * A tool's parameters in a form that providers accept: an object without alternatives at its root. Alternatives are merged into
 * one object with the properties of all, which requires what all of them require. The tool still checks its arguments against its
 * own schema.
 */
export function inputSchema(parameters: JsonSchema): ObjectSchema {
  // OpenAI and LM Studio refuse an object that says nothing of its properties, not even that it has none of its own.
  if (isObjectSchema(parameters))
    return parameters["properties"] === undefined ? { ...parameters, properties: {} } : parameters;
  const { anyOf, oneOf, allOf, $ref, not: _, enum: __, const: ___, ...root }: Fields = { ...parameters };
  const isChoice = [anyOf, oneOf, allOf, $ref].some((value) => value !== undefined);
  if (!isChoice) return { properties: {}, ...root, type: "object" };
  const variants = variantsOf(parameters, parameters, 0);
  const properties: Record<string, unknown> = {};
  for (const variant of variants) {
    for (const [name, schema] of Object.entries(fieldsOf(variant["properties"]))) {
      properties[name] = Object.hasOwn(properties, name) ? either(properties[name], schema) : schema;
    }
  }
  const [first = [], ...others] = variants.map((variant) => listOf(variant["required"]).map(String));
  const required = first.filter((name) => others.every((names) => names.includes(name)));
  return { ...root, type: "object", properties, required };
}

/** Whether any object can be valid against the schema. A tool's arguments always are an object. */
export function mayBeObject(schema: JsonSchema): boolean {
  return admitsObject(schema, schema, 0);
}

function admitsObject(schema: unknown, root: Fields, depth: number): boolean {
  if (!isObject(schema) || depth > MAX_DEPTH) return schema !== false;
  const known = resolved(schema, root);
  const { type } = known;
  if (type !== undefined && type !== "object" && !listOf(type).includes("object")) return false;
  if (Array.isArray(known["enum"]) && !known["enum"].some(isObject)) return false;
  if (known["const"] !== undefined && !isObject(known["const"])) return false;
  const admits = (inner: unknown): boolean => admitsObject(inner, root, depth + 1);
  return (
    CHOICES.every((key) => !Array.isArray(known[key]) || known[key].some(admits)) &&
    listOf(known["allOf"]).every(admits)
  );
}

/** The alternatives of a schema, each merged with what holds for all of them. */
function variantsOf(schema: Fields, root: Fields, depth: number): readonly Fields[] {
  const known = isObject(schema) ? resolved(schema, root) : {};
  if (depth > MAX_DEPTH) return [known];
  const below = (value: unknown): readonly Fields[] =>
    listOf(value).flatMap((inner) => variantsOf(fieldsOf(inner), root, depth + 1));
  const choices = CHOICES.flatMap((key) => below(known[key]));
  const all = [known, ...below(known["allOf"])];
  return choices.length === 0 ? [all.reduce(both)] : choices.map((choice) => all.reduce(both, choice));
}

/** Merges two object schemas that both apply. */
function both(a: Fields, b: Fields): Fields {
  const properties: Record<string, unknown> = { ...fieldsOf(a["properties"]) };
  for (const [name, schema] of Object.entries(fieldsOf(b["properties"]))) {
    const known = properties[name];
    properties[name] = isObject(known) && isObject(schema) ? { ...known, ...schema } : schema;
  }
  // Servers refuse a name that is required twice.
  return { properties, required: [...new Set([...listOf(a["required"]), ...listOf(b["required"])])] };
}

function either(a: unknown, b: unknown): unknown {
  const known = listOf(fieldsOf(a)["anyOf"]);
  const options = known.length > 0 && Object.keys(fieldsOf(a)).length === 1 ? known : [a];
  const text = JSON.stringify(b);
  return options.some((option) => JSON.stringify(option) === text) ? a : { anyOf: [...options, b] };
}

function resolved(schema: Fields, root: Fields): Fields {
  const [, place = "", name = ""] =
    /^#\/(\$defs|definitions)\/([^/]+)$/.exec(textIn(schema["$ref"]) ?? "") ?? [];
  const target = fieldsOf(root[place])[name];
  return isObject(target) ? target : schema;
}
