import type { Logger } from "../ports/services.ts";
import type { JsonObject } from "./json.ts";
import { isPromiseLike } from "./types.ts";

/** Calls the logger. A logger that throws or rejects is ignored, because a log must never change a run. */
export function tellLog(
  logger: Logger | undefined,
  level: keyof Logger,
  message: string,
  fields?: JsonObject,
): void {
  try {
    // A logger may be asynchronous although its type says void.
    const result: unknown = logger?.[level](message, fields);
    if (isPromiseLike(result)) result.then(undefined, () => {});
  } catch {
    // Ignored: see above.
  }
}
