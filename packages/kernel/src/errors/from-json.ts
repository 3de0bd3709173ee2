import { RaviError } from "./base.ts";
import { isOwnField } from "./code.ts";
import { isCode, type SerializedError } from "./to-json.ts";

/**
 * Rebuilds an error from `errorToJSON`. The data chooses no class: a Ravi error comes back as a `RaviError` with its code and
 * fields, which `isRaviError` and `instanceof` recognise; any other as an `Error` with its name.
 */
export function errorFromJSON(data: SerializedError): Error {
  const cause = data.cause === null ? undefined : errorFromJSON(data.cause);
  const error = isCode(data.code)
    ? new RaviError({ code: data.code, message: data.message, retryable: data.retryable, cause })
    : new Error(data.message, cause === undefined ? undefined : { cause });
  Object.defineProperty(error, "name", { value: data.name, writable: true, configurable: true });
  for (const [key, value] of Object.entries(data.fields)) {
    if (isOwnField(key)) Object.defineProperty(error, key, { value, enumerable: true });
  }
  return error;
}
