import { type Headcount, HookEvent, isPromiseLike, type MaybePromise, PausedError } from "@ravi/kernel";
import type { Execution } from "./execution.ts";

/** Where an agent that lost its slot stops: until it has one again, or for good where its parent wants what there is. */
export function yieldIfPaused(exec: Execution, headcount: Headcount): MaybePromise<void> {
  const key = `paused:${exec.checks}`;
  // It gave way here the first time, so it gives way here again, whatever the headcount says today.
  if (exec.onPreempt === "return" && exec.engine.isRecorded(key)) return giveWay(exec, key);
  // It goes through what is on record without stopping: none of that costs anything, and it was not paused there.
  if (exec.engine.isCatchingUp) return undefined;
  const paused = headcount.isPaused(exec.agentId);
  if (isPromiseLike(paused))
    return paused.then((answer) => (answer ? wait(exec, headcount, key) : undefined));
  return paused ? wait(exec, headcount, key) : undefined;
}

async function wait(exec: Execution, headcount: Headcount, key: string): Promise<void> {
  if (exec.onPreempt === "return") return giveWay(exec, key);
  const { clock } = exec.tree.ports;
  const since = clock.now();
  if (exec.hooks.has(HookEvent.PREEMPTED))
    void exec.hooks.dispatch(HookEvent.PREEMPTED, exec.hookBase(false));
  exec.parkedSince = since;
  try {
    await headcount.whenResumed(exec.agentId, exec.signal);
  } finally {
    exec.parkedMs += clock.now() - since;
    exec.parkedSince = undefined;
  }
  exec.token.check();
  if (exec.hooks.has(HookEvent.RESUMED)) {
    void exec.hooks.dispatch(HookEvent.RESUMED, { ...exec.hookBase(false), pausedMs: clock.now() - since });
  }
}

async function giveWay(exec: Execution, key: string): Promise<void> {
  await exec.engine.fact(key, () => true);
  throw new PausedError({ agentId: exec.agentId });
}
