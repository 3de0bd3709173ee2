import type { JsonSchema, StandardSchema } from "@ravi/kernel";
import { problemsIn } from "./check.ts";

/** The arguments of a tool, checked against the server's schema as far as that is safe. The model is shown the schema as it is. */
export function argumentsOf(schema: JsonSchema): StandardSchema<unknown, Record<string, unknown>> {
  return Object.freeze({
    "~standard": Object.freeze({
      version: 1,
      vendor: "ravi-mcp",
      validate: (value: unknown) => {
        const issues = problemsIn(schema, value);
        // The protocol has no other arguments than objects, and their schema says so.
        return issues.length === 0 ? { value: value as Record<string, unknown> } : { issues };
      },
      jsonSchema: Object.freeze({ input: () => ({ ...schema }), output: () => ({ ...schema }) }),
    }),
  });
}
