import type { Logger } from "../ports/services.ts";
import type { JsonObject } from "./json.ts";
import { isPromiseLike } from "./types.ts";

/** A log never changes a run: where it fails itself, there is nobody left to tell. */
export function tellLog(
  logger: Logger | undefined,
  level: keyof Logger,
  message: string,
  fields?: JsonObject,
): void {
  try {
    // It may be asynchronous all the same.
    const told: unknown = logger?.[level](message, fields);
    if (isPromiseLike(told)) told.then(undefined, () => {});
  } catch {
    // See above.
  }
}
