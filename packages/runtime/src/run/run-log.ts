import type { JsonObject, Logger, RunId } from "@ravi/kernel";
import { tellLog } from "@ravi/kernel/loop";
import type { Ports } from "../ports.ts";

/** Where something about a run is logged. Many runs share one logger, so each entry names its run. */
export interface RunLog {
  readonly ports: Pick<Ports, "logger">;
  readonly runId: RunId;
}

export function logOf(
  log: RunLog | undefined,
  level: keyof Logger,
  message: string,
  fields?: JsonObject,
): void {
  if (log !== undefined) tellLog(log.ports.logger, level, message, { runId: log.runId, ...fields });
}
