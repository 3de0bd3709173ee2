import { type Fields, fieldsOf, isObject, listOf } from "@ravi/kernel/provider";
import type { RequestBody } from "../wire/protocol.ts";

/** Their values are schemas by name: a name is no keyword. */
const NAMED: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "dependentSchemas",
  "$defs",
  "definitions",
]);
/** No schemas but examples of what is described. */
const VALUES: ReadonlySet<string> = new Set(["enum", "const", "default", "examples"]);

/** What to write instead of one schema. Those inside of it are changed afterwards. */
export type SchemaChange = (schema: Fields) => Fields;

/** The body of Chat Completions with each schema of its tools and of the answer changed. */
export function withSchemas(body: RequestBody, change: SchemaChange): RequestBody {
  const { tools, response_format: format } = body;
  const shape = fieldsOf(fieldsOf(format)["json_schema"]);
  return {
    ...body,
    ...(tools !== undefined && { tools: listOf(tools).map((tool) => withParameters(tool, change)) }),
    ...(shape["schema"] !== undefined && {
      response_format: {
        ...fieldsOf(format),
        json_schema: { ...shape, schema: changed(shape["schema"], change) },
      },
    }),
  };
}

function withParameters(tool: unknown, change: SchemaChange): unknown {
  const described = fieldsOf(fieldsOf(tool)["function"]);
  const { parameters } = described;
  if (!isObject(tool) || parameters === undefined) return tool;
  return { ...tool, function: { ...described, parameters: changed(parameters, change) } };
}

function changed(schema: unknown, change: SchemaChange): unknown {
  if (Array.isArray(schema)) return schema.map((each) => changed(each, change));
  if (!isObject(schema)) return schema;
  const result: Record<string, unknown> = {};
  for (const [key, inner] of Object.entries(change(schema))) {
    if (VALUES.has(key)) result[key] = inner;
    else if (NAMED.has(key) && isObject(inner)) result[key] = changedEach(inner, change);
    else result[key] = changed(inner, change);
  }
  return result;
}

function changedEach(schemas: Fields, change: SchemaChange): Fields {
  const result: Record<string, unknown> = {};
  for (const [name, schema] of Object.entries(schemas)) result[name] = changed(schema, change);
  return result;
}
