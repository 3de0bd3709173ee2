import { checkFields } from "../core/check.ts";
import { InvalidValueError } from "../errors/errors.ts";

/** The version that all policy values carry in JSON. A reader refuses any other: guessing at limits is not safe. */
export const POLICY_VERSION = 1;

/** Opens a policy value's JSON: known version, known fields, nothing hostile. */
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
      expected: `${POLICY_VERSION}, the only version known here`,
    });
  }
  return rest;
}
