import {
  checkFields,
  defineTool,
  type InferSchema,
  type SchemaLike,
  type Tool,
  type ToolDefinition,
} from "@ravi/kernel";

const FIELDS = [
  "name",
  "description",
  "input",
  "idempotent",
  "needsApproval",
  "timeoutS",
  "execute",
] as const satisfies readonly (keyof ToolDefinition<SchemaLike, unknown>)[];

/** A tool whose arguments have the type of its schema, and are checked against it before it runs. */
export function tool<S extends SchemaLike, R>(definition: ToolDefinition<S, R>): Tool<InferSchema<S>, R> {
  // A misspelt `needsApproval` that is silently ignored is no approval. What is of a class has fields of its own beside.
  if (!isOfClass(definition)) checkFields("tool", definition, FIELDS);
  return defineTool(definition);
}

function isOfClass(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype !== null && Object.getPrototypeOf(prototype) !== null;
}
