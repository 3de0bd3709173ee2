import type { JsonSchema, ModelRequest } from "@ravi/kernel";
import { plainName } from "@ravi/kernel/provider";
import { strictSchema } from "./strict.ts";

export interface OutputFormat {
  readonly name: string;
  readonly schema: JsonSchema;
  readonly strict?: true;
}

/** The shape of the answer as both protocols describe it. */
export function outputFormat({ name, schema }: NonNullable<ModelRequest["output"]>): OutputFormat {
  const strict = strictSchema(schema);
  return {
    name: plainName(name, "output"),
    schema: strict ?? schema,
    ...(strict === undefined ? {} : { strict: true }),
  };
}

/** Asks for the shape in words, for a model that does not support a schema. */
export function outputInWords(schema: unknown): string {
  return `Answer with JSON only, without a code fence or any other text, that fits this JSON Schema:\n${JSON.stringify(schema)}`;
}
