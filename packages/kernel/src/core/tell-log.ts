import type { Logger } from "../ports/services.ts";
import type { JsonObject } from "./json.ts";
import { quietly } from "./quietly.ts";

/** Calls the logger. A logger that throws or rejects is ignored, because a log must never change a run. */
export function tellLog(
  logger: Logger | undefined,
  level: keyof Logger,
  message: string,
  fields?: JsonObject,
): void {
  quietly(() => logger?.[level](message, fields));
}
