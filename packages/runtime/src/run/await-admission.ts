import { CancellationError, type Clock, type TimerHandle } from "@ravi/kernel";
import { GRACE_MS } from "../context/ending.ts";
import { armDeadline } from "../engine/deadline.ts";
import type { LiveRun } from "./live-run.ts";

/**
 * Waits for something before a run begins. If the run is stopped or its deadline passes, the work gets the same grace as an agent;
 * then this rejects, the run is not begun, and nothing is recorded.
 */
export function awaitAdmission<T>(
  work: PromiseLike<T>,
  run: LiveRun,
  clock: Clock,
  deadline: number | null,
): Promise<T> {
  const { token } = run;
  return new Promise((resolve, reject) => {
    let grace: TimerHandle | undefined;
    const giveGrace = (why: CancellationError): void => {
      grace ??= clock.setTimer?.(() => {
        leave();
        token.cancel(why);
        reject(why);
      }, GRACE_MS);
    };
    const closed = (): void =>
      giveGrace(new CancellationError({ reason: run.suspended ?? "the run was suspended" }));
    const unlisten = token.onCancel(giveGrace);
    const disarm = armDeadline({ clock, token, deadline, recording: undefined });
    run.wake = closed;
    const leave = (): void => {
      grace?.cancel();
      unlisten();
      disarm();
      run.wake = undefined;
    };
    if (run.suspended !== undefined) closed();
    Promise.resolve(work).finally(leave).then(resolve, reject);
  });
}
