import type { Tool } from "@anthropic-ai/sdk/resources/messages";
import type { JsonSchema } from "@ravi/kernel";
import { type Fields, fieldsOf, isObject, listOf, textIn } from "@ravi/kernel/provider";

const CHOICES = ["anyOf", "oneOf"] as const;

/**
 * The parameters of a tool as the API takes them: an object, with no alternatives at its root. Those become one object that
 * has the properties of all of them, and demands what all demand; the tool still checks what it gets by its own schema.
 */
export function inputSchema(parameters: JsonSchema): Tool.InputSchema {
  const { anyOf, oneOf, allOf, ...root }: Fields = { ...parameters };
  if (anyOf === undefined && oneOf === undefined && allOf === undefined) return { ...root, type: "object" };
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

/** The objects that a schema stands for: each of its alternatives, with what holds for all. */
function variantsOf(schema: Fields, root: Fields, depth: number): readonly Fields[] {
  const known = isObject(schema) ? resolved(schema, root) : {};
  if (depth > 8) return [known];
  const below = (value: unknown): readonly Fields[] =>
    listOf(value).flatMap((inner) => variantsOf(fieldsOf(inner), root, depth + 1));
  const choices = CHOICES.flatMap((key) => below(known[key]));
  const all = [known, ...below(known["allOf"])];
  return choices.length === 0 ? [all.reduce(both)] : choices.map((choice) => all.reduce(both, choice));
}

/** An object that is both. */
function both(a: Fields, b: Fields): Fields {
  return {
    properties: { ...fieldsOf(a["properties"]), ...fieldsOf(b["properties"]) },
    required: [...listOf(a["required"]), ...listOf(b["required"])],
  };
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
