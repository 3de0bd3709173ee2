import { isPromiseLike } from "@ravi/kernel";
import { tryOrLog } from "../../promises/try-or-log.ts";
import type { Execution } from "../execution.ts";
import { settleAbandoned } from "./settlement.ts";

/** Charges what has no end when its agent ends. Returns undefined if there is nothing to wait for. */
export function abandonOpen(exec: Execution): Promise<void> | undefined {
  const { openAttempts, openTools } = exec;
  if (openAttempts?.isEmpty !== false && openTools?.isEmpty !== false) return undefined;
  const settling = [...abandonAttempts(exec), ...abandonTools(exec)];
  return settling.length === 0 ? undefined : Promise.all(settling).then(() => undefined);
}

/**
 * Charges the attempts that have no answer when their agent ends, because their provider does not stop when it is told to. The provider may
 * still charge for them, so what was set aside counts as spent, and the calls are in doubt.
 */
function* abandonAttempts(exec: Execution): Generator<Promise<void>> {
  for (const attempt of exec.openAttempts?.takeAll() ?? []) {
    const { scope } = attempt;
    // An engine without `leave` accounts for open attempts by itself.
    if (scope.leave === undefined) continue;
    attempt.isAbandoned = true;
    scope.leave();
    // A failure is only logged, because the agent has ended in any case.
    const message = `could not settle a model call that ${exec.agentId} left unfinished`;
    const settled = tryOrLog(exec, "error", message, () => settleAbandoned(attempt));
    if (isPromiseLike(settled)) yield Promise.resolve(settled);
  }
}

/** Charges the calls of tools that do not stop when they are told to: they were made. What comes of them is in doubt. */
function* abandonTools(exec: Execution): Generator<Promise<void>> {
  for (const call of exec.openTools?.takeAll() ?? []) {
    call.scope?.leave?.();
    const message = `could not settle a tool call that ${exec.agentId} left unfinished`;
    const settled = tryOrLog(exec, "error", message, () => call.settle());
    if (isPromiseLike(settled)) yield Promise.resolve(settled);
  }
}
