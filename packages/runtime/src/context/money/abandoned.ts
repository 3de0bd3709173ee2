import { isPromiseLike } from "@ravi/kernel";
import { tryOrLog } from "../../try-or-log.ts";
import type { Execution } from "../execution.ts";
import { settleAbandoned } from "./settlement.ts";

/**
 * Charges the attempts that have no answer when their agent ends, because their provider does not stop when it is told to. The provider may
 * still charge for them, so what was set aside counts as spent, and the calls are in doubt. Returns undefined if there is nothing to wait
 * for.
 */
export function abandonAttempts(exec: Execution): Promise<void> | undefined {
  const { openAttempts } = exec;
  if (openAttempts === undefined || openAttempts.isEmpty) return undefined;
  const settling: Promise<void>[] = [];
  for (const attempt of openAttempts.takeAll()) {
    const { scope } = attempt;
    // An engine without `leave` accounts for open attempts by itself.
    if (scope.leave === undefined) continue;
    attempt.isAbandoned = true;
    scope.leave();
    // A failure is only logged, because the agent has ended in any case.
    const message = `could not settle a model call that ${exec.agentId} left unfinished`;
    const settled = tryOrLog(exec.ports.logger, "error", message, () => settleAbandoned(attempt));
    if (isPromiseLike(settled)) settling.push(Promise.resolve(settled));
  }
  return settling.length === 0 ? undefined : Promise.all(settling).then(() => undefined);
}
