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

/**
 * Defines a tool. Its arguments have the type of its schema, and are checked against it before `execute` is called. Throws an
 * `InvalidValueError` if a field is wrong or unknown.
 */
export function tool<S extends SchemaLike, R>(definition: ToolDefinition<S, R>): Tool<InferSchema<S>, R> {
  // A misspelt `needsApproval` must not be ignored silently: the tool would run without approval. Instances of a class may have
  // fields of their own, so their names are not checked.
  if (!isClassInstance(definition)) checkFields("tool", definition, FIELDS);
  return defineTool(definition);
}

function isClassInstance(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype !== null && Object.getPrototypeOf(prototype) !== null;
}
