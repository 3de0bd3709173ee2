import { HookEvent, isPromiseLike, type MaybePromise, PausedError } from "@ravi/kernel";
import type { Execution } from "./execution.ts";

/**
 * Makes an agent that has lost its slot wait until it has one again. With `onPreempt: "return"` it throws a `PausedError` instead, and the
 * agent ends with what it has.
 */
export function yieldIfPaused(exec: Execution, n: number): MaybePromise<void> {
  const paused = exec.engine.isPaused(n);
  if (isPromiseLike(paused))
    return Promise.resolve(paused).then((answer) => (answer ? wait(exec) : undefined));
  return paused ? wait(exec) : undefined;
}

async function wait(exec: Execution): Promise<void> {
  const { engine, hooks, ports } = exec;
  if (engine.start.onPreempt === "return") throw new PausedError({ agentId: exec.agentId });
  if (engine.tellsPauses === true) return engine.whenResumed().then(() => exec.token.check());
  const since = ports.clock.now();
  if (hooks.has(HookEvent.PREEMPTED)) void hooks.dispatch(HookEvent.PREEMPTED, exec.hookBase(false));
  await engine.whenResumed();
  exec.token.check();
  if (hooks.has(HookEvent.RESUMED)) {
    const pausedMs = ports.clock.now() - since;
    void hooks.dispatch(HookEvent.RESUMED, { ...exec.hookBase(false), pausedMs });
  }
}
