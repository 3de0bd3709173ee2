import { InvalidValueError } from "../errors/errors.ts";
import {
  type JsonSchema,
  type JsonSchemaValidator,
  type SchemaLike,
  isStandardSchema,
} from "../model/schema.ts";
import type { DelegateTool, Tool } from "../model/tool.ts";

export interface CheckedBySchemas {
  /** Whose they are, in words for an error. */
  readonly owner: string;
  readonly tools: readonly (Tool | DelegateTool)[];
  readonly output?: SchemaLike | undefined;
  readonly validator?: JsonSchemaValidator | undefined;
}

/**
 * A raw JSON Schema needs somebody who checks values by it: the agent's validator, or that of its run. Whether there is one is known
 * when a run begins, and nothing is paid before. Found out by the first call, it would be the model's to deal with, which cannot.
 */
export function checkSchemas(
  { owner, tools, output, validator }: CheckedBySchemas,
  ofRun: JsonSchemaValidator | undefined,
): void {
  if (validator !== undefined || ofRun !== undefined) return;
  if (isRawSchema(output)) throw unchecked(`${owner}.output`, output);
  for (const { name, input } of tools) if (isRawSchema(input)) throw unchecked(inputOf(name), input);
}

export function isRawSchema(schema: SchemaLike | undefined): schema is JsonSchema {
  return schema !== undefined && !isStandardSchema(schema);
}

export function inputOf(toolName: string): string {
  return `tool ${toolName}: input`;
}

export function unchecked(field: string, value: SchemaLike): InvalidValueError {
  const expected =
    "a Standard Schema (zod, for one); to use a raw JSON Schema, hand over a JsonSchemaValidator, as the validator of the agent or of the run";
  return new InvalidValueError({ field, value, expected });
}
