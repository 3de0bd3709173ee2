import { isPromiseLike, type MaybePromise } from "@ravi/kernel";
import { messageOf } from "@ravi/kernel/loop";
import { logOf, type RunLog } from "../run/run-log.ts";

/** Runs something whose failure must not affect the run. An error, thrown or rejected, is logged and given to `onFailure`. */
export function tryOrLog(
  log: RunLog | undefined,
  level: "warn" | "error",
  message: string,
  act: () => MaybePromise<void>,
  onFailure?: (error: unknown) => void,
): MaybePromise<void> {
  const report = (error: unknown): void => {
    logOf(log, level, message, { error: messageOf(error) });
    onFailure?.(error);
  };
  try {
    const done = act();
    if (isPromiseLike(done)) return Promise.resolve(done).catch(report);
  } catch (error) {
    report(error);
  }
}
