import type { ModelRequest } from "../../model/llm.ts";
import type { JsonSchema, SchemaLike } from "../../model/schema.ts";
import { isObject } from "../../provider/json.ts";
import { isObjectSchema } from "../../provider/input-schema.ts";
import { jsonSchemaOf } from "../tool-spec.ts";

/** How a structured answer is requested. */
export interface AnswerShape {
  readonly output: NonNullable<ModelRequest["output"]>;
  /** Whether the answer is requested as `{ "value": … }`. */
  readonly isWrapped: boolean;
}

/**
 * The request for an answer of a given schema. Servers with structured output accept only an object, so a list, a text or
 * alternatives are wrapped in one.
 */
export function answerShape(schema: SchemaLike, field: string): AnswerShape {
  const written = jsonSchemaOf(schema, field);
  const bare = written["type"] === undefined && isObject(written["properties"]);
  const asked = bare ? { ...written, type: "object" } : written;
  const isWrapped = !isObjectSchema(asked);
  return { output: { name: "answer", schema: isWrapped ? wrapSchema(written) : asked }, isWrapped };
}

const VALUE = "value";

function wrapSchema(schema: JsonSchema): JsonSchema {
  const { $defs, definitions, ...value } = schema;
  return {
    type: "object",
    properties: { [VALUE]: rebaseRefs(value) },
    required: [VALUE],
    additionalProperties: false,
    // References to definitions start at the root, so they stay there.
    ...($defs !== undefined && { $defs: rebaseRefs($defs) }),
    ...(definitions !== undefined && { definitions: rebaseRefs(definitions) }),
  };
}

/** Adjusts references to the root of the schema, which has moved. */
function rebaseRefs(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(rebaseRefs);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      key === "$ref" && typeof inner === "string"
        ? inner.replace(/^#(?!\/(?:\$defs|definitions)\/)/, `#/properties/${VALUE}`)
        : rebaseRefs(inner),
    ]),
  );
}

/** The content of a wrapped answer; undefined if the model answered without the wrapper. */
export function unwrapped(answer: unknown): { readonly value: unknown } | undefined {
  if (!isObject(answer) || !Object.hasOwn(answer, VALUE) || Object.keys(answer).length > 1) return undefined;
  return { value: answer[VALUE] };
}
