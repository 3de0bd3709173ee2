import type { ModelRequest } from "../../model/llm.ts";
import type { JsonSchema, SchemaLike } from "../../model/schema.ts";
import { isObject } from "../../provider/json.ts";
import { isObjectSchema } from "../../provider/input-schema.ts";
import { jsonSchemaOf } from "../tool-spec.ts";

/** How an answer of a given shape is asked for. */
export interface AnswerShape {
  readonly output: NonNullable<ModelRequest["output"]>;
  /** The answer is asked for as `{ "value": … }`. */
  readonly isWrapped: boolean;
}

/** Servers that hold a model to a shape take an object alone: a list, a text or alternatives are asked for inside of one. */
export function answerShape(schema: SchemaLike, field: string): AnswerShape {
  const written = jsonSchemaOf(schema, field);
  const bare = written["type"] === undefined && isObject(written["properties"]);
  const asked = bare ? { ...written, type: "object" } : written;
  const isWrapped = !isObjectSchema(asked);
  return { output: { name: "answer", schema: isWrapped ? wrapped(written) : asked }, isWrapped };
}

const VALUE = "value";

function wrapped(schema: JsonSchema): JsonSchema {
  const { $defs, definitions, ...value } = schema;
  return {
    type: "object",
    properties: { [VALUE]: moved(value) },
    required: [VALUE],
    additionalProperties: false,
    // They are referred to from the root.
    ...($defs !== undefined && { $defs: moved($defs) }),
    ...(definitions !== undefined && { definitions: moved(definitions) }),
  };
}

/** What referred to the root of the schema refers to where that is now. */
function moved(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(moved);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      key === "$ref" && typeof inner === "string"
        ? inner.replace(/^#(?!\/(?:\$defs|definitions)\/)/, `#/properties/${VALUE}`)
        : moved(inner),
    ]),
  );
}

/** What is inside of a wrapped answer; undefined where a model has answered without the wrapping. */
export function unwrapped(answer: unknown): { readonly value: unknown } | undefined {
  if (!isObject(answer) || !Object.hasOwn(answer, VALUE) || Object.keys(answer).length > 1) return undefined;
  return { value: answer[VALUE] };
}
