import { checkText } from "../core/check.ts";
import { RaviError } from "./base.ts";
import { isOwnField } from "./code.ts";
import { InvalidValueError } from "./errors.ts";
import { isCode, MAX_CAUSES, type SerializedError } from "./to-json.ts";

/**
 * Rebuilds an error from `errorToJSON`. The data chooses no class: a Ravi error comes back as a `RaviError` with its code and
 * fields, which `isRaviError` and `instanceof` recognise; any other as an `Error` with its name.
 */
export function errorFromJSON(data: SerializedError): Error {
  return read(data, "error", MAX_CAUSES);
}

function read(data: SerializedError, at: string, causesLeft: number): Error {
  checkShape(data, at);
  const hasCause = data.cause !== null && data.cause !== undefined && causesLeft > 0;
  const cause = hasCause ? read(data.cause, `${at}.cause`, causesLeft - 1) : undefined;
  const error = isCode(data.code)
    ? new RaviError({ code: data.code, message: data.message, retryable: data.retryable, cause })
    : new Error(data.message, cause === undefined ? undefined : { cause });
  Object.defineProperty(error, "name", { value: data.name, writable: true, configurable: true });
  for (const [key, value] of Object.entries(data.fields)) {
    if (isOwnField(key)) Object.defineProperty(error, key, { value, enumerable: true });
  }
  return error;
}

function checkShape(data: SerializedError, at: string): void {
  if (typeof data !== "object" || data === null)
    throw new InvalidValueError({ field: at, value: data, expected: "an error as errorToJSON returns it" });
  const { name, message, fields } = data;
  checkText(`${at}.name`, name);
  checkText(`${at}.message`, message);
  if (typeof fields !== "object" || fields === null)
    throw new InvalidValueError({ field: `${at}.fields`, value: fields, expected: "an object" });
}
