import { isPromiseLike } from "@ravi/kernel";
import { orLog } from "../../or-log.ts";
import type { Execution } from "../execution.ts";
import { settleAbandoned } from "./settlement.ts";

/**
 * An agent has ended while attempts of its own are not answered, because their provider does not stop when it is told to. The
 * provider may charge for them all the same: what was set aside counts as spent, and they are in doubt.
 */
export function abandonAttempts(exec: Execution): Promise<void> | undefined {
  const { openAttempts } = exec;
  if (openAttempts === undefined || openAttempts.isEmpty) return undefined;
  const settling: Promise<void>[] = [];
  for (const attempt of openAttempts.takeAll()) {
    const { scope } = attempt;
    // An engine without `leave` counts by itself what is open.
    if (scope.leave === undefined) continue;
    attempt.isAbandoned = true;
    scope.leave();
    // The agent has ended, whatever its books say.
    const message = `what ${exec.agentId} has left behind could not be settled`;
    const settled = orLog(exec.ports.logger, "error", message, () => settleAbandoned(attempt));
    if (isPromiseLike(settled)) settling.push(Promise.resolve(settled));
  }
  return settling.length === 0 ? undefined : Promise.all(settling).then(() => undefined);
}
