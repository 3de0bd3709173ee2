import { agentName, errorToJSON, HookEvent, type RaviError, type RestartPolicy } from "@ravi/kernel";
import { messageOf, tellLog } from "@ravi/kernel/loop";
import type { Attempt } from "./attempt.ts";

export interface Restarting {
  readonly delayMs: number;
}

type Asker = Pick<Attempt, "ports" | "start" | "line" | "isOver">;

/**
 * Whether an agent whose code threw is started again. A policy counts in its process, and the next crash may be in another one;
 * so the crashes are counted by the root, and the policy is asked as often as there were.
 */
export async function restartAfter(
  attempt: Asker,
  policy: RestartPolicy,
  error: RaviError,
): Promise<Restarting | undefined> {
  const { ports, start, line } = attempt;
  const { execId, supervision } = start;
  const { clock, ids, hooks } = ports;
  const message = { at: clock.now(), execId, nonce: ids.uuid() };
  const { crashes } = await line.ask("crashed", message, attempt.isOver);
  const delayMs = unlessItFails(attempt, () => delayAfter(policy, execId, crashes, error));
  if (delayMs === undefined) return undefined;
  if (hooks.has(HookEvent.RETRY)) {
    const { agentId, runId, sessionId } = supervision;
    const base = { agentName: agentName(agentId), agentId, runId, execId, sessionId, at: clock.now() };
    const retry = { attempt: crashes, delayMs, error: errorToJSON(error) };
    void hooks.dispatch(HookEvent.RETRY, { ...base, ...retry });
    await hooks.drain?.();
  }
  return { delayMs };
}

/** The run is over: its crashes count no more. */
export function forgetCrashes(attempt: Asker, policy: RestartPolicy): void {
  unlessItFails(attempt, () => policy.reset(attempt.start.execId));
}

function delayAfter(
  policy: RestartPolicy,
  execId: string,
  crashes: number,
  error: RaviError,
): number | undefined {
  policy.reset(execId);
  let isWanted: unknown;
  for (let crash = 0; crash < crashes; crash++) isWanted = policy.shouldRetry(execId, error);
  // Only a clear yes is one, whatever a policy without types may return.
  return isWanted === true ? policy.delayMs(crashes) : undefined;
}

/** A policy that fails starts nothing again, and keeps no run from its end. */
function unlessItFails<T>({ ports, start }: Asker, ask: () => T): T | undefined {
  try {
    return ask();
  } catch (failure) {
    const message = `the restart policy failed; ${start.execId} is not started again`;
    tellLog(ports.logger, "error", message, { error: messageOf(failure) });
    return undefined;
  }
}
