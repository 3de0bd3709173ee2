import { errorToJSON, HookEvent, type RaviError, type RestartPolicy } from "@ravi/kernel";
import { messageOf, restartDelay, tellLog } from "@ravi/kernel/loop";
import type { Attempt } from "./attempt.ts";
import { dispatch, hooksOf } from "./dispatch.ts";

/** What is needed of an attempt whose agent crashed. */
export type Crashed = Pick<Attempt, "ports" | "start" | "channel" | "isOver">;

export interface Restarting {
  readonly delayMs: number;
}

/**
 * Decides whether an agent whose code threw is started again; undefined means no. A policy counts crashes in its own process, but
 * the next one may happen in another. So the root counts them, and the policy is asked that many times.
 */
export async function restartAfter(
  attempt: Crashed,
  policy: RestartPolicy,
  error: RaviError,
): Promise<Restarting | undefined> {
  const { ports, start, channel } = attempt;
  const { execId } = start;
  const { clock, ids } = ports;
  const message = { at: clock.now(), execId, nonce: ids.uuid() };
  const { crashes } = await channel.ask("crashed", message, attempt.isOver);
  const delayMs = guarded(attempt, () => {
    policy.reset(execId);
    // Only `true` counts as yes, whatever an untyped policy may return.
    let isWanted: unknown = false;
    for (let crash = 0; crash < crashes; crash++) isWanted = policy.shouldRetry(execId, error);
    return isWanted === true ? restartDelay(policy, crashes, "restart") : undefined;
  });
  if (delayMs === undefined) return undefined;
  const hooks = hooksOf(attempt);
  if (hooks.has(HookEvent.RETRY)) {
    dispatch(attempt, HookEvent.RETRY, { attempt: crashes, delayMs, error: errorToJSON(error) });
    await hooks.drain?.();
  }
  return { delayMs };
}

/** The execution is over for good, so the policy can forget it. */
export function forgetCrashes(attempt: Crashed, policy: RestartPolicy): void {
  guarded(attempt, () => policy.reset(attempt.start.execId));
}

/** If the policy throws, nothing is restarted. An error thrown from here would be retried by the server for ever. */
function guarded<T>({ ports, start }: Crashed, ask: () => T): T | undefined {
  try {
    return ask();
  } catch (error) {
    const message = `the restart policy threw an error; ${start.execId} is not restarted`;
    tellLog(ports.logger, "error", message, { error: messageOf(error) });
    return undefined;
  }
}
