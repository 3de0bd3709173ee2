import { isPromiseLike, type MaybePromise } from "../core/types.ts";

/**
 * The Standard Schema interface (standardschema.dev) with its JSON Schema part, as far as it is used here. It checks a value and
 * describes its shape to a model. zod 4.2 and later implement it.
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    readonly validate: (value: unknown) => MaybePromise<SchemaResult<Output>>;
    readonly jsonSchema: {
      readonly input: (options: JsonSchemaOptions) => Record<string, unknown>;
      readonly output: (options: JsonSchemaOptions) => Record<string, unknown>;
    };
  };
}

/** The one draft that Ravi asks for. A wider type would refuse schemas whose authors list the drafts that they know. */
interface JsonSchemaOptions {
  readonly target: "draft-2020-12";
}

/** The result of a check: the value, or the issues. */
export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

export interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/**
 * A plain JSON Schema object. It has no `~standard`, so that a Standard Schema that cannot produce JSON Schema, or whose output is of
 * another type, is a type error, in which the compiler shows this text.
 */
export interface JsonSchema {
  readonly "~standard"?: "a schema of that output that gives JSON Schema: of zod 4.2 or newer (not zod/mini), of ArkType, or of Valibot with toStandardJsonSchema";
  readonly [keyword: string]: unknown;
}

/** A schema: a Standard Schema such as zod's, or a plain JSON Schema, which an injected `JsonSchemaValidator` checks. */
export type SchemaLike<Output = unknown> = StandardSchema<unknown, Output> | JsonSchema;

/** Checks a value against a plain JSON Schema. Returns the issues; an empty list means that the value is valid. */
export type JsonSchemaValidator = (schema: JsonSchema, value: unknown) => readonly SchemaIssue[];

/** The type of a checked value: the schema's output type, or `unknown` for a plain JSON Schema. */
export type InferSchema<S> = S extends { readonly "~standard": { readonly types?: infer Types } }
  ? NonNullable<Types> extends { readonly output: infer Output }
    ? Output
    : unknown
  : InferPlain<S>;

/** `unknown`, except for an object of schemas, which some libraries take: then reading an argument is a type error that shows this text. */
type InferPlain<S> = keyof S extends never
  ? unknown
  : string extends keyof S
    ? unknown
    : S extends Readonly<Record<string, { readonly "~standard": unknown }>>
      ? { readonly "an object of schemas is not a schema: wrap it, as in z.object({ ... })": never }
      : unknown;

/**
 * The type of a tool's arguments. Of a plain JSON Schema it is a record rather than `unknown`, of which the compiler would make
 * destructured arguments `any`.
 */
export type InferArgs<S> = InferSchema<S> & (IsPlain<S> extends true ? PlainArgs : unknown);

type PlainArgs = Readonly<Record<string, unknown>>;

type IsPlain<S> = string extends keyof S
  ? true
  : S extends { readonly "~standard": object }
    ? false
    : unknown extends InferSchema<S>
      ? true
      : false;

/** Whether the schema checks values itself. A plain JSON Schema needs a validator. */
export function isStandardSchema(schema: SchemaLike): schema is StandardSchema {
  return typeof schema["~standard"] === "object";
}

/** What a wrong schema is told. */
export const A_SCHEMA = "a Standard Schema (such as one of zod 4.2 or newer) or a JSON Schema";

/** Whether the value may be a schema. A function is one only if it checks values itself: `z.object` that was not called does not. */
export function isSchema(value: unknown): value is SchemaLike {
  if (typeof value === "function") return "~standard" in value;
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isPromiseLike(value);
}
