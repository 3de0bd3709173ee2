import { isPromiseLike, type Logger, type MaybePromise } from "@ravi/kernel";
import { messageOf, tellLog } from "@ravi/kernel/loop";

/** Runs something whose failure must not affect the run. An error, thrown or rejected, is logged and given to `onFailure`. */
export function tryOrLog(
  logger: Logger | undefined,
  level: "warn" | "error",
  message: string,
  act: () => MaybePromise<void>,
  onFailure?: (error: unknown) => void,
): MaybePromise<void> {
  const report = (error: unknown): void => {
    tellLog(logger, level, message, { error: messageOf(error) });
    onFailure?.(error);
  };
  try {
    const done = act();
    if (isPromiseLike(done)) return Promise.resolve(done).catch(report);
  } catch (error) {
    report(error);
  }
}
