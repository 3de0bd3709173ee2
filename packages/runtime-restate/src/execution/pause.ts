import { json } from "../json.ts";
import { HookEvent } from "@ravi/kernel";
import type { Attempt } from "./attempt.ts";
import { awaiting, type Steps } from "./steps.ts";
import { dispatch } from "./tell.ts";
import { resting } from "./waits.ts";

/**
 * A call that finds out by its admission that its agent has no seat any more: until it has one again. Several calls of a batch
 * may find it out; it is one pause, and is told once when it begins and once when it ends, also by a replay.
 */
export function* pausing(attempt: Attempt, lane: number): Steps<void> {
  const { context, ports } = attempt;
  const since = attempt.standing.at;
  const isFirst = attempt.resting++ === 0;
  try {
    yield* resting(attempt, lane, () => {
      if (isFirst) dispatch(attempt, HookEvent.PREEMPTED, {});
    });
  } finally {
    attempt.resting--;
  }
  if (attempt.resting > 0) return;
  const told = context.run(
    "resumed",
    () => {
      const at = ports.clock.now();
      dispatch(attempt, HookEvent.RESUMED, { pausedMs: Math.max(0, at - since) });
      return { at };
    },
    { serde: json<{ at: number }>() },
  );
  attempt.learnTime((yield* awaiting(told, { cut: false })).at);
}
