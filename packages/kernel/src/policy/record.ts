import { checkFields } from "../core/check.ts";
import { InvalidValueError } from "../errors/errors.ts";

/** The version in the JSON of all policy values. A reader refuses any other, because guessing limits is not safe. */
export const POLICY_VERSION = 1;

/** Checks the version and the field names of a policy value's JSON, and returns its fields. */
export function readRecord(
  what: string,
  json: unknown,
  fields: readonly string[],
): Readonly<Record<string, unknown>> {
  const { v, ...rest } = checkFields(what, json, ["v", ...fields]);
  if (v !== POLICY_VERSION) {
    throw new InvalidValueError({
      field: `${what}.v`,
      value: v,
      expected: `${POLICY_VERSION}, the only supported version`,
    });
  }
  return rest;
}

/**
 * Checks the options of a policy value. What its `toJSON` returned is taken too: a limit that was stored as JSON, or stands in a
 * result that was, can be passed wherever options can.
 */
export function readOptions(
  what: string,
  options: unknown,
  fields: readonly string[],
): Readonly<Record<string, unknown>> {
  const isRecord = typeof options === "object" && options !== null && Object.hasOwn(options, "v");
  return isRecord ? readRecord(what, options, fields) : checkFields(what, options, fields);
}
