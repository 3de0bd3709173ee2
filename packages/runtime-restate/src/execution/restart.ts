import { agentName, errorToJSON, HookEvent, type RaviError, type RestartPolicy } from "@ravi/kernel";
import type { Attempt } from "./attempt.ts";

export interface Restarting {
  readonly delayMs: number;
}

/**
 * Whether an agent whose code threw is started again. A policy counts in its process, and the next crash may be in another one;
 * so the crashes are counted by the root, and the policy is asked as often as there were.
 */
export async function restartAfter(
  attempt: Attempt,
  policy: RestartPolicy,
  error: RaviError,
): Promise<Restarting | undefined> {
  const { ports, start, line } = attempt;
  const { execId, supervision } = start;
  const { clock, ids, hooks } = ports;
  const message = { at: clock.now(), execId, nonce: ids.uuid() };
  const { crashes } = await line.ask("crashed", message, attempt.isOver);
  policy.reset(execId);
  let isWorthIt = false;
  for (let crash = 0; crash < crashes; crash++) isWorthIt = policy.shouldRetry(execId, error);
  if (!isWorthIt) return undefined;
  const delayMs = policy.delayMs(crashes);
  if (hooks.has(HookEvent.RETRY)) {
    const { agentId, runId, sessionId } = supervision;
    const base = { agentName: agentName(agentId), agentId, runId, execId, sessionId, at: clock.now() };
    const retry = { attempt: crashes, delayMs, error: errorToJSON(error) };
    void hooks.dispatch(HookEvent.RETRY, { ...base, ...retry });
    await hooks.drain?.();
  }
  return { delayMs };
}
