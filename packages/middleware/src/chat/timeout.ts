import {
  type ChatContext,
  CancellationToken,
  checkFields,
  ErrorKind,
  isCancellation,
  ProviderError,
} from "@ravi/kernel";
import { checkFunction, checkNumber } from "../options.ts";
import { quietly } from "../observer.ts";
import { setTimer } from "../timer.ts";
import type { ChatMiddleware } from "../types.ts";

export interface TimeoutOptions {
  /** How long the call inside may take. Default 60,000. */
  readonly timeoutMs?: number | undefined;
  /** Told when a call that was given up fails after all; by default that is forgotten. What it throws is left out. */
  readonly onLate?: ((error: unknown) => void) | undefined;
}

/**
 * Gives up on a call that takes too long: its signal aborts, and the error (TIMEOUT, retryable) comes at once, whether or not
 * the call listens to its signal.
 */
export function timeout(options: TimeoutOptions = {}): ChatMiddleware {
  checkFields("timeout", options, ["timeoutMs", "onLate"]);
  checkFunction("timeout.onLate", options.onLate);
  const timeoutMs = checkNumber("timeout.timeoutMs", options.timeoutMs ?? 60_000, 1);
  return {
    level: "chat",
    name: "timeout",
    async process(context, next) {
      const outer = context.signal;
      const token = new CancellationToken(outer);
      token.check();
      context.signal = token.signal;
      const cut = Promise.withResolvers<never>();
      const leave = token.onCancel((error) => cut.reject(error));
      const timer = setTimer(
        context.clock,
        () => {
          // The limit's own error first: the abort that follows must not be taken for a cancellation from outside.
          cut.reject(tooLate(context, timeoutMs));
          token.cancel(`the call took longer than ${timeoutMs} ms`);
        },
        timeoutMs,
      );
      const call = next();
      try {
        await Promise.race([call, cut.promise]);
      } catch (error) {
        // Where the call itself failed this hears the same error again; where it was given up, whatever comes late. That
        // it then reports the abort which we caused is no news.
        call.catch((late: unknown) => {
          if (late !== error && !isCancellation(late)) quietly(() => options.onLate?.(late));
        });
        throw error;
      } finally {
        timer.cancel();
        leave();
        token.dispose();
        // Where a limit further out has given this call up, the signal is that one's to set: a newer attempt may have it by now.
        if (!outer.aborted) context.signal = outer;
      }
    },
  };
}

function tooLate({ model }: ChatContext, timeoutMs: number): ProviderError {
  return new ProviderError({
    kind: ErrorKind.TIMEOUT,
    message: `${model.id} gave no answer within ${timeoutMs} ms`,
    provider: model.info.provider,
    model: model.info.model,
  });
}
