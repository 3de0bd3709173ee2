import type { HireOutcome } from "../agent/leaves.ts";
import { parseJson, sameValue } from "../core/json.ts";
import { type SchemaLike, isStandardSchema } from "../model/schema.ts";
import { isParsed, parseWith } from "./parse-with.ts";

/**
 * A recorded result with its `structured` value as the agent's schema makes it. On record is only the JSON of that value, in which a
 * date is a text. So the schema reads the model's own JSON again, which is the `output`. The value stays as recorded if that gives
 * something else (a layer has changed it, or the agent says it in other words), and if the schema is asynchronous.
 */
export function readAgain<R extends { readonly output: string; readonly structured?: unknown }>(
  result: R,
  schema: SchemaLike | undefined,
): R {
  if (schema === undefined || result.structured === undefined || !isStandardSchema(schema)) return result;
  try {
    const parsed = parseWith(schema, parseJson(result.output, "output"));
    if (!isParsed(parsed)) {
      // Nobody waits for it, so a rejection must not end the process.
      void parsed.then(undefined, () => {});
      return result;
    }
    if (!parsed.ok) return result;
    const { value } = parsed;
    const isRecorded = sameValue(JSON.parse(JSON.stringify(value)), result.structured);
    return isRecorded ? { ...result, structured: value } : result;
  } catch {
    return result;
  }
}

/** The same for the outcome of a hire that an engine has from its record. One that the child has just given is left as it is. */
export function readOutcome(outcome: HireOutcome, schema: SchemaLike | undefined): HireOutcome {
  if (schema === undefined || !("result" in outcome)) return outcome;
  const result = readAgain(outcome.result, schema);
  return result === outcome.result ? outcome : { ...outcome, result };
}
