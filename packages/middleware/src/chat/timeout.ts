import {
  type ChatContext,
  CancellationToken,
  checkFields,
  ErrorKind,
  isCancellation,
  ProviderError,
} from "@ravi/kernel";
import { checkFunction, quietly, TimeLimit } from "@ravi/kernel/loop";
import { checkNumber } from "../common/options.ts";
import { setTimer } from "../common/timer.ts";
import type { ChatMiddleware } from "../types.ts";

export interface TimeoutOptions {
  /** The maximum time of the inner call, in milliseconds. Default: 60,000. */
  readonly timeoutMs?: number | undefined;
  /** Called if a call fails after it was given up. Default: such errors are ignored. Errors that it throws are ignored. */
  readonly onLate?: ((error: unknown) => void) | undefined;
}

/**
 * Gives up on a call that takes too long: its signal aborts, and a retryable `ProviderError` of kind TIMEOUT is thrown at once,
 * even if the call ignores its signal. Time in which the call waits for money that others have reserved does not count.
 */
export function timeout(options: TimeoutOptions = {}): ChatMiddleware {
  checkFields("timeout", options, ["timeoutMs", "onLate"]);
  checkFunction("timeout.onLate", options.onLate);
  const timeoutMs = checkNumber("timeout.timeoutMs", options.timeoutMs ?? 60_000, 1);
  return {
    level: "chat",
    name: "timeout",
    async process(context, next) {
      const { signal: outer, model } = context;
      const token = new CancellationToken(outer);
      token.check();
      context.signal = token.signal;
      const givenUp = Promise.withResolvers<never>();
      token.onCancel((error) => givenUp.reject(error));
      const onTime = (): void => {
        // The timeout error comes first: the abort that follows must not be taken for a cancellation from outside.
        givenUp.reject(timeoutError(context, timeoutMs));
        token.cancel(`the call took longer than ${timeoutMs} ms`);
        // Last: of several layers inside that have changed it, each sets back what it has found.
        context.model = model;
      };
      const limit = new TimeLimit({
        limitMs: timeoutMs,
        setTimer: (callback, delayMs) => setTimer(context.clock, callback, delayMs),
        stoodMs: () => context.waitedMs ?? 0,
        onTime,
      });
      const call = next();
      try {
        await Promise.race([call, givenUp.promise]);
      } catch (error) {
        // If the call itself failed, this gets the same error again; if it was given up, the late one. The abort that we caused
        // ourselves is not reported.
        call.catch((late: unknown) => {
          if (late !== error && !isCancellation(late)) quietly(() => options.onLate?.(late));
        });
        throw error;
      } finally {
        limit.cancel();
        token.dispose();
        // If an outer timeout has given this call up, the signal must not be restored: a newer attempt may have set its own by
        // now.
        if (!outer.aborted) context.signal = outer;
      }
    },
  };
}

function timeoutError({ model }: ChatContext, timeoutMs: number): ProviderError {
  return new ProviderError({
    kind: ErrorKind.TIMEOUT,
    message: `${model.id} did not answer within ${timeoutMs} ms`,
    provider: model.info.provider,
    model: model.info.model,
  });
}
