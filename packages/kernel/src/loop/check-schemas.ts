import { InvalidValueError } from "../errors/errors.ts";
import {
  type JsonSchema,
  type JsonSchemaValidator,
  type SchemaLike,
  isStandardSchema,
} from "../model/schema.ts";
import type { DelegateTool, Tool } from "../model/tool.ts";

export interface CheckedBySchemas {
  /** Whose schemas they are, for an error. */
  readonly owner: string;
  readonly tools: readonly (Tool | DelegateTool)[];
  readonly output?: SchemaLike | undefined;
  readonly validator?: JsonSchemaValidator | undefined;
}

/**
 * Throws if there is a raw JSON Schema, but neither the agent nor the run has a validator for it. This is checked when a run
 * begins, before anything is paid. Noticed at the first call, it would be reported to the model, which cannot fix it.
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

/** The error for a raw JSON Schema without a validator. */
export function unchecked(field: string, value: SchemaLike): InvalidValueError {
  const expected =
    "a Standard Schema (such as one of zod 4.2 or newer); to use a raw JSON Schema, pass a JsonSchemaValidator as the validator of the agent or of the run";
  return new InvalidValueError({ field, value, expected });
}
