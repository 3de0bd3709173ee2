import { InvalidValueError } from "../errors/errors.ts";
import { messageOf } from "../errors/message-of.ts";
import type { ToolSpec } from "../model/llm.ts";
import { type JsonSchema, type SchemaLike, type StandardSchema, isStandardSchema } from "../model/schema.ts";
import { mayBeObject } from "../provider/input-schema.ts";
import { inputOf } from "./check-schemas.ts";
import { type DelegateTool, type Tool, checkToolName } from "../model/tool.ts";

const specs = new WeakMap<object, ToolSpec>();

/** A tool as the model sees it. Made once for each tool, because converting a schema costs more than a turn of the loop. */
export function toolSpec(tool: Tool | DelegateTool): ToolSpec {
  let spec = specs.get(tool);
  if (spec === undefined) {
    checkToolName(tool.name);
    const field = inputOf(tool.name);
    const parameters = jsonSchemaOf(tool.input, field);
    if (!mayBeObject(parameters)) {
      const { type } = parameters;
      const found = typeof type === "string" ? `; this is one of a ${type}` : "";
      const expected = `an object schema, such as z.object({ … }), because models pass arguments by name${found}`;
      throw new InvalidValueError({ field, value: tool.input, expected });
    }
    spec = Object.freeze({ name: tool.name, description: tool.description, parameters });
    specs.set(tool, spec);
  }
  return spec;
}

const HAS_NONE =
  "it has no ~standard.jsonSchema; schemas of zod 4.2 or newer and of ArkType have it, those of zod/mini do not; for Valibot use toStandardJsonSchema of @valibot/to-json-schema";

const WRITE_AS_TEXT =
  "a model writes JSON, so ask for a date and the like as a text, such as z.iso.date(), and convert it with a transform";

const WRAPPED = "one schema; an object of schemas has to be wrapped, as in z.object({ … })";

/** The JSON Schema of a schema's input. Throws an `InvalidValueError` if it has none. */
export function jsonSchemaOf(schema: SchemaLike, field: string): JsonSchema {
  if (!isStandardSchema(schema)) {
    if (isShape(schema)) throw new InvalidValueError({ field, value: schema, expected: WRAPPED });
    return schema;
  }
  try {
    const { jsonSchema }: Partial<StandardSchema["~standard"]> = schema["~standard"];
    if (jsonSchema === undefined) throw new TypeError(HAS_NONE);
    const { $schema: _, ...rest } = jsonSchema.input({ target: "draft-2020-12" });
    return rest;
  } catch (cause) {
    const said = messageOf(cause);
    const why = said === HAS_NONE ? said : `${said}; ${WRITE_AS_TEXT}`;
    throw new InvalidValueError({
      field,
      value: schema,
      expected: `a schema that can be converted to JSON Schema (${why})`,
      cause,
    });
  }
}

/** Whether it is an object of schemas by name. Taken for a JSON Schema, it would describe nothing to the model. */
function isShape(schema: JsonSchema): boolean {
  const values = Object.values(schema) as (SchemaLike | null | undefined)[];
  return values.length > 0 && values.every((value) => typeof value?.["~standard"] === "object");
}
