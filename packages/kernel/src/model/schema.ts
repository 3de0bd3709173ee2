import type { MaybePromise } from "../core/types.ts";

/**
 * The Standard Schema interface (standardschema.dev), as far as it is used here, with its JSON Schema part: it both checks
 * a value and can say its shape to a model. zod from 4.2 on is one.
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    readonly validate: (value: unknown) => MaybePromise<SchemaResult<Output>>;
    readonly jsonSchema: {
      readonly input: (options: { readonly target: string }) => Record<string, unknown>;
      readonly output: (options: { readonly target: string }) => Record<string, unknown>;
    };
  };
}

export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

export interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** A raw JSON Schema. `~standard` is ruled out, so that a schema which cannot give JSON Schema does not pass as one. */
export interface JsonSchema {
  readonly "~standard"?: never;
  readonly [keyword: string]: unknown;
}

/** Whatever can describe a value to a model and check it. A raw JSON Schema is checked by an injected `JsonSchemaValidator`. */
export type SchemaLike<Output = unknown> = StandardSchema<unknown, Output> | JsonSchema;

/** Checks a value against a raw JSON Schema; an empty list means that it fits. */
export type JsonSchemaValidator = (schema: JsonSchema, value: unknown) => readonly SchemaIssue[];

/** What a checked value is: the schema's output, or `unknown` for a raw JSON Schema. */
export type InferSchema<S> = S extends { readonly "~standard": { readonly types?: infer Types } }
  ? NonNullable<Types> extends { readonly output: infer Output }
    ? Output
    : unknown
  : unknown;

/** Whether a schema checks values itself; a raw JSON Schema needs a validator. */
export function isStandardSchema(schema: SchemaLike): schema is StandardSchema {
  return typeof schema["~standard"] === "object";
}
