import { CancellationError } from "@ravi/kernel";

// The texts of errors about a misuse of `next`.

export const CALLED_TWICE =
  "called next() twice, which would run (and pay for) the call again; to repeat the call on purpose, use next.again()";
export const AGAIN_TOO_EARLY = "called next.again() before next(); make the first call with next()";
export const AGAIN_WHILE_RUNNING =
  "called next.again() while the previous call was still running; await that call first";
export const NOT_AWAITED =
  "returned while its inner call was still running; write `await next()`, or return its promise";

/** The error for a layer that continues after a layer further out gave up on its call. */
export function givenUp(layer: string): CancellationError {
  return new CancellationError({
    reason: `an outer layer has given up on this call, so ${layer} cannot continue it`,
  });
}
