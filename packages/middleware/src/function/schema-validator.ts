import {
  type JsonSchemaValidator,
  type SchemaLike,
  type ToolResult,
  checkFields,
  InvalidValueError,
  isStandardSchema,
} from "@ravi/kernel";
import { checkRecord, parseWith } from "@ravi/kernel/loop";
import { ask, checkOnError, type OnGuardError } from "../guard.ts";
import { checkFunction } from "../options.ts";
import type { FunctionMiddleware } from "../types.ts";
import { checkOnViolation, type OnViolation, refuseCall } from "./refuse.ts";

export interface SchemaValidatorOptions {
  /** What each tool must return, by its name. Other tools are not looked at. */
  readonly schemas: Readonly<Record<string, SchemaLike>>;
  /** Needed for raw JSON Schemas. */
  readonly validator?: JsonSchemaValidator | undefined;
  readonly onViolation?: OnViolation | undefined;
  readonly onError?: OnGuardError | undefined;
}

const LAYER = "schemaValidator";

/** Checks what a tool returned before a model sees it. What does not fit becomes an error result that says where. */
export function schemaValidator(options: SchemaValidatorOptions): FunctionMiddleware {
  checkFields(LAYER, options, ["schemas", "validator", "onViolation", "onError"]);
  checkFunction(`${LAYER}.validator`, options.validator);
  const schemas = new Map(
    Object.entries(checkRecord(`${LAYER}.schemas`, options.schemas, "a schema for each tool, by its name")),
  ) as ReadonlyMap<string, SchemaLike>;
  for (const [name, schema] of schemas) {
    if (isSchema(schema) && (isStandardSchema(schema) || options.validator !== undefined)) continue;
    const expected = "a Standard Schema (zod, for one); a raw JSON Schema needs the validator option";
    throw new InvalidValueError({ field: `${LAYER}.schemas.${name}`, value: schema, expected });
  }
  const onViolation = checkOnViolation(`${LAYER}.onViolation`, options.onViolation);
  const onError = checkOnError(`${LAYER}.onError`, options.onError);
  return {
    level: "function",
    name: LAYER,
    async process(context, next) {
      await next();
      const schema = schemas.get(context.functionName);
      const { result } = context;
      if (schema === undefined || result === undefined || result.isError) return;
      const reason = await ask({ layer: LAYER, context, onError }, async () => {
        const parsed = await parseWith(schema, valueOf(result), options.validator);
        return parsed.ok ? undefined : `its result does not have the right form (${parsed.problem})`;
      });
      if (reason !== undefined) refuseCall(context, LAYER, reason, onViolation);
    },
  };
}

function isSchema(value: unknown): boolean {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}

/** A redactor further in leaves the value out where it has taken something from the text, which is what a model reads. */
function valueOf({ value, content }: ToolResult): unknown {
  if (value !== undefined || typeof content !== "string" || content === "") return value;
  try {
    return JSON.parse(content);
  } catch {
    return content;
  }
}
