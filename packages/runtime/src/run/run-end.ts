import { isPromiseLike, type MaybePromise, type RunResult } from "@ravi/kernel";

/**
 * Gets the result of a run, or the error that it could not be taken to its end with: one of the two is called, once. Neither may throw.
 * With callbacks, a run makes one promise for its result: with a promise at each step between the agent and the caller, a bare run that
 * makes one model call took 7 % longer.
 */
export interface RunEnd {
  ended(result: RunResult): void;
  failed(error: unknown): void;
}

/** Passes on what `make` gives, when it is there. */
export function endWith(end: RunEnd, make: () => MaybePromise<RunResult>): void {
  let made: MaybePromise<RunResult>;
  try {
    made = make();
  } catch (error) {
    return end.failed(error);
  }
  if (isPromiseLike(made)) endLater(end, made);
  else end.ended(made);
}

// A function of its own, so that nothing is allocated for its closures if there is nothing to wait for.
function endLater(end: RunEnd, made: PromiseLike<RunResult>): void {
  made.then(
    (result) => end.ended(result),
    (error: unknown) => end.failed(error),
  );
}
