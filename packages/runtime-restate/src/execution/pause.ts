import { json } from "../json.ts";
import { HookEvent } from "@ravi/kernel";
import type { Attempt } from "./attempt.ts";
import { awaiting, type Steps } from "./steps.ts";
import { dispatch } from "./dispatch.ts";
import { waitingForSeat } from "./waits.ts";

/**
 * Waits until the agent has its seat again, after an admission said that it was lost. Several calls of a batch may notice it; that
 * is one pause. Its begin and its end are each reported once, also in a replay.
 */
export function* pausing(attempt: Attempt, lane: number): Steps<void> {
  const { context, ports } = attempt;
  const since = attempt.standing.at;
  const isFirst = attempt.waitingForSeat++ === 0;
  try {
    yield* waitingForSeat(attempt, lane, () => {
      if (isFirst) dispatch(attempt, HookEvent.PREEMPTED, {});
    });
  } finally {
    attempt.waitingForSeat--;
  }
  if (attempt.waitingForSeat > 0) return;
  const resumed = context.run(
    "resumed",
    () => {
      const at = ports.clock.now();
      dispatch(attempt, HookEvent.RESUMED, { pausedMs: Math.max(0, at - since) });
      return { at };
    },
    { serde: json<{ at: number }>() },
  );
  attempt.learnTime((yield* awaiting(resumed, { cut: false })).at);
}
