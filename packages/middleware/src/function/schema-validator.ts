import {
  type JsonSchemaValidator,
  type SchemaLike,
  type ToolResult,
  checkFields,
  InvalidValueError,
  isStandardSchema,
} from "@ravi/kernel";
import { tryParse } from "@ravi/kernel/provider";
import { checkFunction, checkRecord, parseWith } from "@ravi/kernel/loop";
import { checkOnError, type OnGuardError, runCheck } from "../guard.ts";
import type { FunctionMiddleware } from "../types.ts";
import { checkOnViolation, type OnViolation, refuseCall } from "./refuse.ts";

export interface SchemaValidatorOptions {
  /** The schema of each tool's result, by the tool's name. Other tools are not checked. */
  readonly schemas: Readonly<Record<string, SchemaLike>>;
  /** Needed for raw JSON Schemas. */
  readonly validator?: JsonSchemaValidator | undefined;
  /** Whether the model gets an error result, or the run ends. Default: "result". */
  readonly onViolation?: OnViolation | undefined;
  /** What happens if the check itself fails. Default: "block". */
  readonly onError?: OnGuardError | undefined;
}

const LAYER = "schemaValidator";

/**
 * Checks a tool's result against a schema before a model sees it. A result that is not valid becomes an error result that says
 * where.
 */
export function schemaValidator(options: SchemaValidatorOptions): FunctionMiddleware {
  checkFields(LAYER, options, ["schemas", "validator", "onViolation", "onError"]);
  checkFunction(`${LAYER}.validator`, options.validator);
  const schemas = new Map(
    Object.entries(checkRecord(`${LAYER}.schemas`, options.schemas, "a schema for each tool, by its name")),
  ) as ReadonlyMap<string, SchemaLike>;
  for (const [name, schema] of schemas) {
    if (isSchema(schema) && (isStandardSchema(schema) || options.validator !== undefined)) continue;
    const expected =
      "a Standard Schema (such as a Zod schema); a raw JSON Schema needs the option `validator`";
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
      const reason = await runCheck({ layer: LAYER, context, onError }, async () => {
        const parsed = await parseWith(schema, valueOf(result), options.validator);
        return parsed.ok ? undefined : `its result does not match the schema (${parsed.problem})`;
      });
      if (reason !== undefined) refuseCall(context, LAYER, reason, onViolation);
    },
  };
}

function isSchema(value: unknown): boolean {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}

/**
 * An inner redactor removes the value if it has removed something from the text. Then the text, which the model reads, is
 * checked.
 */
function valueOf({ value, content }: ToolResult): unknown {
  if (value !== undefined || typeof content !== "string" || content === "") return value;
  const parsed = tryParse(content);
  return parsed === undefined ? content : parsed;
}
