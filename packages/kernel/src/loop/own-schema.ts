import type { SchemaIssue, SchemaResult, StandardSchema } from "../model/schema.ts";

/** A Standard Schema that is written by hand, so that neither a schema library nor a validator is needed. */
export function ownSchema<T>(
  jsonSchema: () => Record<string, unknown>,
  validate: (value: unknown) => SchemaResult<T>,
): StandardSchema<T> {
  return Object.freeze({
    "~standard": Object.freeze({
      version: 1,
      vendor: "ravi",
      validate,
      jsonSchema: Object.freeze({ input: jsonSchema, output: jsonSchema }),
    }),
  });
}

/** A schema of required texts, by name and description. */
export function textSchema<K extends string>(
  fields: Readonly<Record<K, string>>,
): StandardSchema<Readonly<Record<K, string>>> {
  const names = Object.keys(fields) as K[];
  const jsonSchema = (): Record<string, unknown> => ({
    type: "object",
    properties: Object.fromEntries(
      names.map((name) => [name, { type: "string", description: fields[name] }]),
    ),
    required: names,
    additionalProperties: false,
  });
  return ownSchema(jsonSchema, (value) => {
    if (typeof value !== "object" || value === null)
      return { issues: [{ message: `expected an object with ${names.join(", ")}` }] };
    const issues = names.flatMap((name): SchemaIssue[] => {
      const text: unknown = Reflect.get(value, name);
      return typeof text === "string" && text.trim() !== ""
        ? []
        : [{ message: "expected a non-empty string", path: [name] }];
    });
    // Every name was checked above.
    return issues.length === 0 ? { value: value as Readonly<Record<K, string>> } : { issues };
  });
}
