import { CancellationError, MiddlewareError } from "@ravi/kernel";

// The texts of errors about a misuse of `next`.

export const CALLED_TWICE =
  "called next() twice, which would run (and pay for) the call again; a layer that means to repeat uses next.again()";
export const AGAIN_TOO_EARLY = "called next.again() before next(); the first time is next()";
export const AGAIN_WHILE_RUNNING =
  "called next.again() while its earlier call was still running; await that one first";
export const NOT_AWAITED =
  "returned while the call inside was still running; write `await next()`, or return its promise";

export function misused(layer: string, problem: string, cause?: unknown): MiddlewareError {
  return new MiddlewareError({ layer, problem, cause });
}

/** The error for a layer that continues after a layer further out gave up on its call. */
export function givenUp(layer: string): CancellationError {
  return new CancellationError({
    reason: `the call was given up further out, so ${layer} may not go on inward`,
  });
}
