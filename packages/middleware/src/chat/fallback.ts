import {
  type ChatContext,
  type LLMClient,
  checkFields,
  classifyError,
  ErrorKind,
  InvalidValueError,
  isRetryableKind,
} from "@ravi/kernel";
import { checkFunction, checkModel, quietly } from "@ravi/kernel/loop";
import { reportRetry } from "../common/report.ts";
import { checkWords } from "../common/options.ts";
import type { ChatMiddleware } from "../types.ts";

export interface FallbackOptions {
  /** Tried in this order after the agent's own model. */
  readonly models: readonly LLMClient[];
  /**
   * The kinds of failures after which the next model is tried. Default: the temporary ones except CONTEXT_OVERFLOW, and
   * MODEL_NOT_FOUND.
   */
  readonly on?: readonly ErrorKind[] | undefined;
  /** Called each time before the next model is called. Errors that it throws are ignored. */
  readonly onFallback?: ((step: FallbackStep) => void) | undefined;
}

/** A switch from one model to the next, by their ids. */
export interface FallbackStep {
  readonly from: string;
  readonly to: string;
  readonly error: unknown;
}

const DEFAULT_KINDS: readonly ErrorKind[] = [
  ErrorKind.RATE_LIMIT,
  ErrorKind.OVERLOADED,
  ErrorKind.SERVER_ERROR,
  ErrorKind.TIMEOUT,
  ErrorKind.MODEL_NOT_FOUND,
  ErrorKind.UNKNOWN,
];

/**
 * Tries the next model if one fails. `result.model` is the model that answered. Outside of `retry`, each model is retried before
 * the next one; inside of it, every retry goes through all models.
 */
export function fallback(options: FallbackOptions): ChatMiddleware {
  const { models, kinds, onFallback } = checked(options);
  return {
    level: "chat",
    name: "fallback",
    async process(context, next) {
      // Those of this call: if an outer layer gives it up and tries again, the context has others.
      const { model: own, signal } = context;
      const restore = (): void => void (context.model = own);
      try {
        await next();
        return;
      } catch (error) {
        let failure = error;
        // A call that is given up may never end, and the next try has to begin with the agent's own model.
        signal.addEventListener("abort", restore, { once: true });
        for (const [at, model] of models.entries()) {
          if (!mayFallBack(failure, kinds) || signal.aborted) break;
          const step = { from: context.model.id, to: model.id, error: failure };
          quietly(() => onFallback?.(step));
          reportRetry(context, at + 1, 0, failure);
          context.model = model;
          try {
            await next.again();
            nameModel(context, model);
            return;
          } catch (another) {
            failure = another;
          }
        }
        throw failure;
      } finally {
        signal.removeEventListener("abort", restore);
        if (!signal.aborted) restore();
      }
    },
  };
}

/** An error that is marked as final stays final, such as a failure after a part of the answer was streamed. */
function mayFallBack(error: unknown, kinds: ReadonlySet<ErrorKind>): boolean {
  const { kind, retryable } = classifyError(error);
  return kinds.has(kind) && (retryable || !isRetryableKind(kind));
}

function nameModel(context: ChatContext, model: LLMClient): void {
  const { result } = context;
  if (result !== undefined && result.model === undefined)
    context.result = { ...result, model: model.info.model };
}

function checked(options: FallbackOptions): {
  models: readonly LLMClient[];
  kinds: ReadonlySet<ErrorKind>;
  onFallback: FallbackOptions["onFallback"];
} {
  checkFields("fallback", options, ["models", "on", "onFallback"]);
  checkFunction("fallback.onFallback", options.onFallback);
  const { models } = options;
  if (!Array.isArray(models) || models.length === 0) {
    throw new InvalidValueError({
      field: "fallback.models",
      value: models,
      expected: "an array of at least one model",
    });
  }
  for (const [at, model] of (models as readonly LLMClient[]).entries())
    checkModel(`fallback.models[${at}]`, model);
  const kinds = checkWords("fallback.on", options.on ?? DEFAULT_KINDS, Object.values(ErrorKind));
  return {
    models: [...(models as readonly LLMClient[])],
    kinds: new Set(kinds),
    onFallback: options.onFallback,
  };
}
