import type { Logger } from "@ravi/kernel";
import { tellLog } from "@ravi/kernel/loop";

const told = new Set<string>();

/** Warns the logger, or the console if there is none. Once: a server starts each run with the same options. */
export function tellOnce(logger: Logger | undefined, message: string): void {
  if (told.has(message)) return;
  told.add(message);
  tellLog(logger ?? console, "warn", message);
}
