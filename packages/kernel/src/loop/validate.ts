import { field } from "../core/field.ts";
import { type MaybePromise, isPromiseLike } from "../core/types.ts";
import type { SchemaIssue, SchemaResult, StandardSchema } from "../model/schema.ts";

/** What zod's own functions call, and its public way to check a value asynchronously. */
interface ZodSchema {
  readonly _zod: {
    run(payload: Payload, context: { readonly async: true }): MaybePromise<Payload>;
  };
  safeParseAsync(value: unknown): Promise<ZodResult>;
}

interface Payload {
  readonly value: unknown;
  readonly issues: readonly unknown[];
}

type ZodResult =
  | { readonly success: true; readonly data: unknown }
  | { readonly success: false; readonly error: { readonly issues: readonly SchemaIssue[] } };

/** The schemas of zod that have checked a value without a promise. */
const synchronous = new WeakSet<StandardSchema>();
/** The one of them that was asked last. To look for it in the set takes 2 % of a bare turn. */
let latest: StandardSchema | undefined;

/**
 * Checks a value as the schema does. To find out whether it is asynchronous, `validate` of zod runs it, and drops the promise of that run:
 * if it rejects, it ends the process. So a schema of zod that has not yet checked a value at once is run in a way that drops nothing.
 */
export function validate<T>(
  schema: StandardSchema<unknown, T>,
  value: unknown,
): MaybePromise<SchemaResult<T>> {
  const standard = schema["~standard"];
  if (standard.vendor !== "zod") return standard.validate(value);
  if (schema === latest || synchronous.has(schema)) {
    latest = schema;
    const result = standard.validate(value);
    // A part that is asynchronous, and that no value had before.
    if (isPromiseLike(result)) forget(schema);
    return result;
  }
  if (!isZod(schema)) return standard.validate(value);
  const done = schema["_zod"].run({ value, issues: [] }, { async: true });
  if (isPromiseLike(done)) return afterwards(schema, value, done);
  if (done.issues.length > 0) return standard.validate(value);
  synchronous.add(schema);
  return { value: done.value as T };
}

function forget(schema: StandardSchema): void {
  latest = undefined;
  synchronous.delete(schema);
}

/** zod writes the messages of what it has found only in its public functions, so a value with issues is checked once more. */
async function afterwards<T>(
  schema: ZodSchema,
  value: unknown,
  run: PromiseLike<Payload>,
): Promise<SchemaResult<T>> {
  const done = await run;
  if (done.issues.length === 0) return { value: done.value as T };
  const result = await schema.safeParseAsync(value);
  return result.success ? { value: result.data as T } : { issues: result.error.issues };
}

function isZod(schema: object): schema is ZodSchema {
  return (
    typeof field(field(schema, "_zod"), "run") === "function" &&
    typeof field(schema, "safeParseAsync") === "function"
  );
}
